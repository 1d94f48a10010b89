/**
 * `stonegate whoami`: the user's identity as Stonegate reports it.
 */
import { SELF_IDENTITY_PATH, type SelfIdentity } from '../features/explain/stonegate-v1alpha1.ts';
import { systemClock } from '../lib/clock.ts';
import { isLastInstant } from '../lib/go-time.ts';
import { createAskingCommand } from './asking-command.ts';
import { factRows } from './command.ts';
import { DESTINATION_USAGE } from './destination.ts';

const USAGE = `Usage: stonegate whoami [--context NAME] [--kubeconfig FILE]
                        [-o table|json|yaml]
       stonegate whoami --server URL [--ca-file FILE] --token-file FILE
                        [-o table|json|yaml]

Says who you are to Stonegate: user, tenant, project and roles, groups, how and
until when you are logged in.

${DESTINATION_USAGE}
Exit codes: 0 fine, 1 not logged in or not reached, 2 wrong usage.
`;

export const whoami = createAskingCommand({ usage: USAGE, options: {} }, async ({ ask, print }) => {
  const answer = await ask<SelfIdentity>(SELF_IDENTITY_PATH);
  await print(answer, () => tableOf(answer, systemClock.now()));
});

function tableOf({ status }: SelfIdentity, now: number): string {
  const { user, tenant, authenticator, scope, roles, accessToken, expirationTimestamp } = status;
  const end = Date.parse(expirationTimestamp);
  return factRows([
    ['User', [user.username]],
    ['UID', [user.uid]],
    ['Tenant', [tenant]],
    [
      'Scope',
      scope === undefined
        ? []
        : [[scope.kind, scope.name, scope.id && `(${scope.id})`].filter(Boolean).join(' ')],
    ],
    ['Roles', roles],
    ['Groups', user.groups],
    ['Extra', extraOf(user.extra)],
    ['Logged in by', [authenticator]],
    ['Access token', accessToken === undefined ? [] : [`${accessToken.id} (${accessToken.scopes})`]],
    [
      'Until',
      isLastInstant(end) ? [] : [`${expirationTimestamp} (${inWords(Math.floor((end - now) / 60_000))})`],
    ],
  ]);
}

/** The extra without the keys that repeat Keystone's scope and roles. */
function extraOf(extra: SelfIdentity['status']['user']['extra']): string[] {
  return Object.entries(extra)
    .filter(([key]) => !key.startsWith('alpha.kubernetes.io/identity/'))
    .map(([key, values]) => `${key}=${values.join(',')}`);
}

/** @param minutes left */
function inWords(minutes: number): string {
  if (minutes < 1) return 'less than a minute left';
  if (minutes < 120) return `${minutes} min left`;
  return minutes < 48 * 60
    ? `${Math.floor(minutes / 60)} h left`
    : `${Math.floor(minutes / 1_440)} days left`;
}
