/**
 * `stonegate members`: who has which role in a namespace, and changes of that.
 */
import {
  MEMBERS,
  type Member,
  type MemberSpec,
  type MemberType,
} from '../features/members/member-v1alpha1.ts';
import { createAskingCommand } from './asking-command.ts';
import { columns, FLAG, refuseWords, UsageError } from './command.ts';
import { DESTINATION_USAGE } from './destination.ts';
import { onlyOne } from './only-one.ts';
import { createOwnObjectClient } from './own-object-client.ts';

const USAGE = `Usage: stonegate members [-n NAMESPACE]
       stonegate members add NAME ROLE [--type TYPE] [-n NAMESPACE]
       stonegate members set NAME ROLE [--type TYPE] [--force] [-n NAMESPACE]
       stonegate members remove NAME [--type TYPE] [--force] [-n NAMESPACE]

Lists who has a role in a namespace and where it comes from; adds a role
to others, replaces others by one, and removes them. You can grant what you
have yourself: read, control, edit, manage, each with all before it; or the
name of another ClusterRole, if the API server has no tenants.
  stonegate members add alice edit -n web
  stonegate members set alice read -n web
  stonegate members remove web:builder --type serviceaccount -n web

  -n, --namespace NAME       instead of the context's, or "default"
  --type TYPE                user (the default of add), group, team or
                             serviceaccount, whose NAME is NAMESPACE:NAME
  --force                    even if no other member may manage the namespace

${DESTINATION_USAGE}
Exit codes: 0 fine, 1 not logged in, refused or not reached, 2 wrong usage.
`;

const ACTIONS = ['add', 'set', 'remove'] as const;
const TYPES: Readonly<Record<string, MemberType>> = {
  user: 'User',
  group: 'Group',
  team: 'Team',
  serviceaccount: 'ServiceAccount',
};
const OPTIONS = {
  namespace: { type: 'string', short: 'n' },
  type: { type: 'string', choices: Object.keys(TYPES) },
  force: FLAG,
} as const;
const COMMAND = { usage: USAGE, options: OPTIONS, words: ACTIONS } as const;

export const members = createAskingCommand(
  COMMAND,
  async ({ values, words, note, print, destination, io }) => {
    const [action, name, role, ...more] = words;
    refuseWords(more);
    const isKnown = ACTIONS.some((known) => known === action);
    const isComplete = name !== undefined && (role === undefined) === (action === 'remove');
    if (action !== undefined && !(isKnown && isComplete))
      throw new UsageError(
        'expected: members add NAME ROLE, set NAME ROLE or remove NAME; members alone lists',
      );
    const type = values.type === undefined ? undefined : TYPES[values.type];
    const stonegate = { ...(await destination()), onWarning: note };
    const namespace = values.namespace ?? stonegate.namespace;
    const here = createOwnObjectClient<Member>(stonegate, MEMBERS, namespace);
    if (name === undefined) {
      const listed = await here.list();
      return print(listed, () => tableOf(listed.items, io.width));
    }
    const show = (changed: Member) => print(changed, () => tableOf([changed], io.width));
    if (role !== undefined && action === 'add') {
      const spec: MemberSpec = { type: type ?? 'User', name, role };
      return show(await here.create(spec, { namespace }));
    }
    const { items } = await here.list();
    const { metadata, spec } = onlyOne(
      items.filter((member) => type === undefined || member.spec.type === type),
      name,
      (member) => [member.spec.name, member.metadata.name],
      `${name} is no member of ${namespace}`,
    );
    const id = metadata.name;
    if (role !== undefined) {
      const next = { ...spec, role, ...(values.force && { force: true }) };
      return show(await here.replace(id, next, { namespace, name: id }));
    }
    await here.remove(id, { gracePeriodSeconds: values.force ? 0 : 1 });
    note(`${spec.name} was removed`);
  },
);

function tableOf(listed: readonly Member[], width: number | undefined): string {
  const lines = listed.map(({ spec, status: { displayName, owner, from } }) => [
    spec.type,
    displayName === undefined ? spec.name : `${displayName} (${spec.name})`,
    spec.role,
    owner ? 'yes' : '',
    from.map(({ kind, name, role }) => `${kind} ${name} (${role})`).join(', '),
  ]);
  return columns([['TYPE', 'NAME', 'ROLE', 'OWNER', 'FROM'], ...lines], width);
}
