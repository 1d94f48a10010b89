/**
 * `stonegate teams`: the teams of the user's tenant, and who is in them.
 */
import { OWN_TEAMS, type ShownTeam } from '../features/teams/team-v1alpha1.ts';
import { createAskingCommand } from './asking-command.ts';
import { columns, FLAG, refuseWords, UsageError, VALUE } from './command.ts';
import { DESTINATION_USAGE } from './destination.ts';
import { onlyOne } from './only-one.ts';
import { createOwnObjectClient } from './own-object-client.ts';

const USAGE = `Usage: stonegate teams [-o table|json|yaml]
       stonegate teams create NAME [USER...] [--description TEXT]
       stonegate teams add|remove NAME USER... [--managers]
       stonegate teams delete NAME

Lists the teams that you are in or manage; all of your tenant, if you may.
A team is a group of users of the tenant, to which roles can be granted: the
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
  description: VALUE,
  managers: FLAG,
} as const;
const COMMAND = { usage: USAGE, options: OPTIONS, words: ACTIONS } as const;

export const teams = createAskingCommand(COMMAND, async ({ values, words, note, print, destination }) => {
  const [action, name, ...users] = words;
  const isKnown = ACTIONS.some((known) => known === action);
  if (action !== undefined && (!isKnown || name === undefined))
    throw new UsageError(`expected: teams ${ACTIONS.join('|')} NAME; teams alone lists`);
  if ((action === 'add' || action === 'remove') && users.length === 0)
    throw new UsageError(`expected: teams ${action} NAME USER...`);
  if (action === 'delete') refuseWords(users);
  const ofTenant = createOwnObjectClient<ShownTeam>(await destination(), OWN_TEAMS);
  if (name === undefined) {
    const list = await ofTenant.list();
    await print(list, () => tableOf(list.items));
  } else if (action === 'delete') {
    await ofTenant.remove(name);
    note(`the team ${name} is deleted`);
  } else {
    const { description, managers } = values;
    const change = async (field: 'members' | 'managers') => {
      const { metadata, spec } = await ofTenant.get(name);
      const next = action === 'add' ? [...spec[field], ...users] : without(spec[field], users);
      return ofTenant.replace(name, { ...spec, [field]: next }, metadata);
    };
    const changed =
      action === 'create'
        ? await ofTenant.create({ description, members: users }, { name })
        : await change(managers === true ? 'managers' : 'members');
    await print(changed, () => tableOf([changed]));
  }
});

/** A user may be named without the prefix of the tenant or of the source. */
function without(present: readonly string[], users: readonly string[]): readonly string[] {
  const removed = users.map((user) => onlyOne(present, user, (one) => [one], `${user} is not in it`));
  return present.filter((one) => !removed.includes(one));
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
