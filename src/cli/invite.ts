/**
 * `stonegate invite`: invites to a namespace or a team, and accepts an invitation.
 */
import {
  type InvitationSpec,
  type Offer,
  OWN_ACCEPTANCES,
  OWN_INVITATIONS,
  type ShownInvitation,
} from '../features/members/invitation-v1alpha1.ts';
import { type CommandIO, columns, print, refuseWords, runCommand, UsageError } from './command.ts';
import { DESTINATION_OPTIONS, DESTINATION_USAGE, destinationOf } from './destination.ts';
import { ownObjects } from './own-objects.ts';

const USAGE = `Usage: stonegate invite --role ROLE [-n NAMESPACE] [--email ADDRESS]
       stonegate invite --team TEAM [--email ADDRESS]
       stonegate invite list
       stonegate invite withdraw ID
       stonegate invite show|accept LINK

Prints a link with which one user of your tenant gets a role in a namespace,
or joins a team, within seven days. It counts with the rights that you have
when it is accepted. Every user who has the link can accept, unless an
address is given. show says who invites to what; accept accepts.
  stonegate invite -n web --role edit --email bob@example.com
  stonegate invite accept https://portal.example.com/invitation/sgi_...

  -n, --namespace NAME       where the role is given, instead of in the context's,
                             or "default"
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
  team: { type: 'string' },
  email: { type: 'string' },
  ...DESTINATION_OPTIONS,
} as const;
const COMMAND = { usage: USAGE, options: OPTIONS, words: ACTIONS } as const;

/** @param argv what follows `invite` */
export function invite(argv: readonly string[], io: CommandIO, env = process.env): Promise<number> {
  return runCommand({ ...COMMAND, argv, io }, async (values, words, note) => {
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
    const destination = await destinationOf(values, env);
    const invitations = ownObjects<ShownInvitation>(destination, OWN_INVITATIONS);
    if (isNew) {
      const place = role === undefined ? namespace : (namespace ?? destination.namespace);
      const made = await invitations.create({ namespace: place, role, team, email });
      await print(made, values.output, () => `${made.status.link}\n`, io.stdout);
    } else if (subject === undefined) {
      const list = await invitations.list();
      await print(list, values.output, () => tableOf(list.items), io.stdout);
    } else if (action === 'withdraw') {
      await invitations.remove(subject);
      note(`the invitation ${subject} is withdrawn`);
    } else {
      const acceptances = ownObjects<{ readonly status: Offer }>(destination, OWN_ACCEPTANCES);
      const spec = { token: subject.split('/').at(-1), accept: action === 'accept' };
      const answer = await acceptances.create(spec);
      const { status } = answer;
      const what = `${status.inviter} invites you to ${targetText(status)}`;
      await print(answer, values.output, () => `${what}${status.accepted ? ': accepted' : ''}\n`, io.stdout);
    }
    return undefined;
  });
}

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
