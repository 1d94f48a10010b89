/**
 * `stonegate teams`: the teams of the user's tenant, and who is in them.
 */
import { type ShownTeam, TEAMS_PATH } from '../features/members/team-v1alpha1.ts';
import { type Ask, askingCommand } from './asking-command.ts';
import { columns, refuseWords, UsageError } from './command.ts';
import { DESTINATION_USAGE } from './destination.ts';
import { onlyOne } from './only-one.ts';
import { askStonegate } from './stonegate-api.ts';

const USAGE = `Usage: stonegate teams [-o table|json|yaml]
       stonegate teams create NAME [USER...] [--description TEXT]
       stonegate teams add|remove NAME USER... [--managers]
       stonegate teams delete NAME

Lists the teams that you are in or manage; all of your tenant, if you may.
A team is a group of users of the tenant, to which roles can be given: the
group is in the list. You are the first manager of a team that you create, and
its managers may change it.
  stonegate teams create web alice bob
  stonegate teams add web carol

  --description TEXT         what the team is for
  --managers                 the users are added as managers, or are no longer

${DESTINATION_USAGE}
Exit codes: 0 fine, 1 not logged in, refused or not reached, 2 wrong usage.
`;

const ACTIONS = ['create', 'add', 'remove', 'delete'] as const;
const OPTIONS = {
  description: { type: 'string' },
  managers: { type: 'boolean' },
} as const;
const COMMAND = { usage: USAGE, options: OPTIONS, words: ACTIONS } as const;

export const teams = askingCommand(COMMAND, async ({ values, words, note, print, ask, destination }) => {
  const [action, name, ...users] = words;
  const isKnown = ACTIONS.some((known) => known === action);
  if (action !== undefined && (!isKnown || name === undefined))
    throw new UsageError(`expected: teams ${ACTIONS.join('|')} NAME; teams alone lists`);
  if ((action === 'add' || action === 'remove') && users.length === 0)
    throw new UsageError(`expected: teams ${action} NAME USER...`);
  if (action === 'delete') refuseWords(users);
  if (name === undefined) {
    const list = await ask<{ readonly items: readonly ShownTeam[] }>(TEAMS_PATH);
    await print(list, () => tableOf(list.items));
  } else if (action === 'delete') {
    await askStonegate(await destination(), pathOf(name), undefined, 'DELETE');
    note(`the team ${name} is deleted`);
  } else {
    const { description, managers } = values;
    const changed =
      action === 'create'
        ? await ask<ShownTeam>(TEAMS_PATH, {
            kind: 'Team',
            metadata: { name },
            spec: { description, members: users },
          })
        : await change(ask, name, managers === true ? 'managers' : 'members', (present) =>
            action === 'add' ? [...present, ...users] : without(present, users),
          );
    await print(changed, () => tableOf([changed]));
  }
});

async function change(
  ask: Ask,
  name: string,
  field: 'members' | 'managers',
  changed: (users: readonly string[]) => readonly string[],
): Promise<ShownTeam> {
  const team = await ask<ShownTeam>(pathOf(name));
  const spec = { ...team.spec, [field]: changed(team.spec[field]) };
  return ask<ShownTeam>(pathOf(name), { ...team, spec }, 'PUT');
}

/** A user may be named without the prefix of the tenant or of the source. */
function without(present: readonly string[], users: readonly string[]): readonly string[] {
  const removed = users.map((user) => onlyOne(present, user, (one) => [one], `${user} is not in it`));
  return present.filter((one) => !removed.includes(one));
}

function pathOf(name: string): string {
  return `${TEAMS_PATH}/${encodeURIComponent(name)}`;
}

function tableOf(shown: readonly ShownTeam[]): string {
  const lines = shown.map(({ metadata, spec, status }) => [
    metadata.name,
    String(spec.members.length),
    spec.managers.join(', '),
    status.group,
  ]);
  return columns([['NAME', 'MEMBERS', 'MANAGERS', 'GROUP'], ...lines]);
}
