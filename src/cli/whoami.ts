/**
 * `stonegate whoami`: the user's identity as Stonegate reports it.
 */

import { SELF_IDENTITY_PATH, type SelfIdentity } from '../api/stonegate-v1alpha1.ts';
import { askStonegate } from '../clients/stonegate-api.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { isLastInstant } from '../lib/kubernetes-time.ts';
import { type CommandIO, columns, EXIT, outputFormat, print, runCommand, UsageError } from './command.ts';
import { destinationOf } from './destination.ts';
import { givenFile } from './given-file.ts';

const USAGE = `Usage: stonegate whoami [--context NAME] [--kubeconfig FILE] [-o table|json|yaml]
       stonegate whoami --server URL [--ca-file FILE] --token-file FILE [-o table|json|yaml]

Says who you are to Stonegate: user, tenant, project and roles, groups, how and until when you are logged in.

  --context NAME      a context of the kubeconfig; without it the current one
  --kubeconfig FILE   instead of KUBECONFIG or ~/.kube/config
  --server URL        this Stonegate, whatever the kubeconfig says
  --ca-file FILE      the authority of its certificate; without it the system's
  --token-file FILE   the token to show, instead of the context's credential
  -o, --output FORMAT table, json or yaml
  --help              this text

Exit codes: 0 fine, 1 not logged in or not reached, 2 wrong usage.
`;

const OPTIONS = {
  context: { type: 'string' },
  kubeconfig: { type: 'string' },
  server: { type: 'string' },
  'ca-file': { type: 'string' },
  'token-file': { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const;

export interface WhoamiParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** @param argv what follows `whoami` */
export function whoami(
  argv: readonly string[],
  io: CommandIO,
  { env, clock }: WhoamiParts = { env: process.env, clock: systemClock },
): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, words) => {
    if (words.length > 0) throw new UsageError(`unexpected argument ${words[0]}`);
    const format = outputFormat(values.output);
    try {
      const address = await destinationOf(
        { ...values, tokenFile: givenFile('--token-file', values['token-file']) },
        env,
      );
      const answer = await askStonegate(address, SELF_IDENTITY_PATH);
      if (!isSelfIdentity(answer)) throw new Error(`${address.url} is no Stonegate`);
      await print(answer, format, () => tableOf(answer, clock.now()), io.stdout);
      return EXIT.fine;
    } catch (error) {
      if (!(error instanceof Error) || error instanceof UsageError) throw error;
      io.stderr(`stonegate whoami: ${error.message}\n`);
      return EXIT.failed;
    }
  });
}

function isSelfIdentity(value: unknown): value is SelfIdentity {
  return (
    isJSONObject(value) &&
    value.kind === 'SelfIdentity' &&
    value.apiVersion === 'stonegate.dev/v1alpha1' &&
    isJSONObject(value.status)
  );
}

function tableOf({ status }: SelfIdentity, now: number): string {
  const { user, tenant, authenticator, scope, roles, expirationTimestamp } = status;
  const end = Date.parse(expirationTimestamp);
  const facts: (readonly [string, readonly string[]])[] = [
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
    [
      'Until',
      isLastInstant(end) ? [] : [`${expirationTimestamp} (${inWords(Math.floor((end - now) / 60_000))})`],
    ],
  ];
  return columns(
    facts.flatMap(([name, values]) =>
      values.filter((value) => value !== '').map((value, at) => [at === 0 ? name : '', value]),
    ),
  );
}

/** Without the keys that repeat Keystone's scope and roles. */
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
