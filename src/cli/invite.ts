/**
 * `stonegate invite`: invites to a namespace or a team, and accepts an invitation.
 */
import {
  type InvitationSpec,
  type Offer,
  OWN_ACCEPTANCES,
  OWN_INVITATIONS,
  type ShownInvitation,
} from '../features/invitations/invitation-v1alpha1.ts';
import { createAskingCommand } from './asking-command.ts';
import { columns, refuseWords, UsageError, VALUE } from './command.ts';
import { DESTINATION_USAGE } from './destination.ts';
import { createOwnObjectClient } from './own-object-client.ts';

const USAGE = `Usage: stonegate invite --role ROLE [-n NAMESPACE] [--email ADDRESS]
       stonegate invite --team TEAM [--email ADDRESS]
       stonegate invite list
       stonegate invite withdraw ID
       stonegate invite show|accept LINK

Prints a link with which one user of your tenant gets a role in a namespace,
or joins a team, within seven days. It can grant only what you may grant
when it is accepted. Every user who has the link can accept, unless you name
an address. show says who invites to what; accept accepts.
  stonegate invite -n web --role edit --email bob@example.com
  stonegate invite accept https://portal.example.com/invitation/sgi_...

  -n, --namespace NAME       where the role is granted, instead of in the
                             context's, or "default"
  --role ROLE                read, control, edit or manage
  --team TEAM                a team that you manage
  --email ADDRESS            only for who signs in with this verified address

${DESTINATION_USAGE}
Exit codes: 0 fine, 1 not logged in, refused or not reached, 2 wrong usage.
`;

const ACTIONS = ['list', 'withdraw', 'show', 'accept'] as const;
const OPTIONS = {
  namespace: { type: 'string', short: 'n' },
  role: { type: 'string', choices: ['read', 'control', 'edit', 'manage'] },
  team: VALUE,
  email: VALUE,
} as const;
const COMMAND = { usage: USAGE, options: OPTIONS, words: ACTIONS } as const;

export const invite = createAskingCommand(COMMAND, async ({ values, words, note, print, destination }) => {
  const [action, subject, ...more] = words;
  refuseWords(more);
  const { namespace, role, team, email } = values;
  const isNew = [namespace, role, team, email].some((value) => value !== undefined);
  const isKnown = action === undefined || ACTIONS.some((known) => known === action);
  const needsSubject = action !== undefined && action !== 'list';
  if (
    !isKnown ||
    needsSubject === (subject === undefined) ||
    (action === undefined) !== isNew ||
    (isNew && (role === undefined) === (team === undefined))
  )
    throw new UsageError(
      'expected: invite --role ROLE, --team TEAM, list, withdraw ID, show LINK, accept LINK',
    );
  const stonegate = await destination();
  const invitations = createOwnObjectClient<ShownInvitation>(stonegate, OWN_INVITATIONS);
  if (isNew) {
    const place = role === undefined ? namespace : (namespace ?? stonegate.namespace);
    const made = await invitations.create({ namespace: place, role, team, email });
    await print(made, () => `${made.status.link}\n`);
  } else if (subject === undefined) {
    const list = await invitations.list();
    await print(list, () => tableOf(list.items));
  } else if (action === 'withdraw') {
    await invitations.remove(subject);
    note(`the invitation ${subject} is withdrawn`);
  } else {
    const spec = { token: subject.split('/').at(-1), accept: action === 'accept' };
    const acceptances = createOwnObjectClient<{ readonly status: Offer }>(stonegate, OWN_ACCEPTANCES);
    const answer = await acceptances.create(spec);
    const { status } = answer;
    const what = `${status.inviter} invites you to ${targetText(status)}`;
    await print(answer, () => `${what}${status.accepted ? ': accepted' : ''}\n`);
  }
});

function tableOf(listed: readonly ShownInvitation[]): string {
  const lines = listed.map(({ metadata, spec, status }) => [
    metadata.name,
    targetText(spec),
    spec.email ?? '',
    status.inviter,
    status.reason ?? status.state,
    status.expirationTimestamp,
  ]);
  return columns([['ID', 'TO', 'EMAIL', 'INVITER', 'STATE', 'EXPIRES'], ...lines]);
}

function targetText({ namespace, role, team }: InvitationSpec): string {
  return team === undefined ? `${role} in ${namespace}` : `the team ${team}`;
}
