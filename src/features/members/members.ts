/**
 * Who has a role in a namespace, from the objects of the RBAC index: each subject with its ways in. Pure. A
 * subject of a ClusterRoleBinding is a member if the role shows it the namespace or gives roles there, and
 * if it is not the cluster's.
 */
import { hash } from 'node:crypto';
import { StatusError } from '../../errors/status-error.ts';
import type { StoredBinding, StoredRole } from '../../kubernetes/rbac-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { isReservedNamespace, SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { GIVEN_BY_MANAGE } from '../../rbac/cluster-roles.ts';
import { coveredByRole, roleAllows } from '../../rbac/rules.ts';
import { groupKey, keysOfBinding, type SubjectKey, subjectOfKey } from '../../rbac/subject-key.ts';
import type { TenantObjects } from '../../rbac/tenant-objects.ts';
import { LEVELS, type MemberType } from './member-v1alpha1.ts';
import { groupOf } from './team-v1alpha1.ts';

interface TeamMembers {
  readonly name: string;
  readonly members: readonly string[];
}

/** What is known of the teams of all tenants. */
export interface TeamDirectory {
  /** The groups of the teams that the user is in. */
  groupsOf(tenant: TenantName, username: string): readonly string[];
  teamsOf(tenant: TenantName): readonly { readonly spec: TeamMembers }[];
}

export interface MemberName {
  readonly type: MemberType;
  readonly name: string;
}

/** A binding by which a subject has a role. */
export interface Way {
  readonly binding: StoredBinding;
  readonly role: StoredRole;
  /** The name of the team whose binding it is; undefined if it names the subject itself. */
  readonly team?: string;
}

export interface FoundMember extends MemberName {
  /** Stable, and a name of Kubernetes. */
  readonly id: string;
  readonly key: SubjectKey;
  /** Bindings of the whole cluster or tenant come first. */
  readonly ways: readonly Way[];
  readonly role: string;
  readonly owner: boolean;
}

export interface MembersPlace {
  readonly namespace: string;
  readonly tenant: TenantName;
  /** Whether the API server has tenants: then a binding does not count for another tenant's user. */
  readonly hasTenants: boolean;
  readonly teams: TeamDirectory;
}

/** Sorted by id, hence by type. */
export function membersIn(objects: TenantObjects, place: MembersPlace): FoundMember[] {
  const ways = waysIn(objects, place);
  const { tenant, teams } = place;
  const members = Array.from(ways, ([key, own]) => {
    const { kind, name } = subjectOfKey(key);
    const groups = kind === 'user' ? teams.groupsOf(tenant, name) : [];
    const byTeams = groups.flatMap((group) =>
      (ways.get(groupKey(group)) ?? []).map((way) => ({ ...way, team: memberNameOf(group, tenant).name })),
    );
    return memberOf(key, [...own, ...byTeams], place);
  });
  return members.sort((one, other) => (one.id < other.id ? -1 : 1));
}

export function memberOf(
  key: SubjectKey,
  ways: readonly Way[],
  { tenant, namespace }: MembersPlace,
): FoundMember {
  const named = memberNameOf(key, tenant);
  const owner = ways.some(({ role }) => givesRoles(role, namespace));
  return { ...named, id: memberID(named), key, ways, role: highestRole(ways), owner };
}

function waysIn(objects: TenantObjects, { namespace, tenant, hasTenants }: MembersPlace) {
  const ways = new Map<SubjectKey, Way[]>();
  const shows = memoizeByReference((role: StoredRole) => {
    const get = { verb: 'get', apiGroup: '', resource: 'namespaces', subresource: '' };
    const covered = coveredByRole(role, get);
    return covered === 'all' || covered.has(namespace) || givesRoles(role, namespace);
  });
  for (const place of ['', namespace])
    for (const binding of objects.bindingsIn(place).values()) {
      const role = objects.roleOf(binding);
      if (role === undefined || (place === '' && !shows(role))) continue;
      for (const key of keysOfBinding(binding)) {
        if (place === '' && isOfCluster(key)) continue;
        if (hasTenants && isOfOther(key, tenant)) continue;
        const known = ways.get(key);
        if (known === undefined) ways.set(key, [{ binding, role }]);
        else known.push({ binding, role });
      }
    }
  return ways;
}

/** Controllers, nodes and the like are no members of each namespace. */
function isOfCluster(key: SubjectKey): boolean {
  const { name } = subjectOfKey(key);
  if (!name.startsWith(SERVICE_ACCOUNT_PREFIX)) return name.startsWith('system:');
  return isReservedNamespace(name.slice(SERVICE_ACCOUNT_PREFIX.length).split(':', 1)[0] ?? '');
}

function isOfOther(key: SubjectKey, tenant: TenantName): boolean {
  const { kind, name } = subjectOfKey(key);
  return kind === 'user' && !name.startsWith(`${tenant}:`) && !name.startsWith('system:');
}

function memberNameOf(key: SubjectKey, tenant: TenantName): MemberName {
  const { kind, name } = subjectOfKey(key);
  const team = groupOf({ tenant, name: '' });
  if (kind === 'group' && name.startsWith(team)) return { type: 'Team', name: name.slice(team.length) };
  if (kind === 'group') return { type: 'Group', name };
  return name.startsWith(SERVICE_ACCOUNT_PREFIX)
    ? { type: 'ServiceAccount', name: name.slice(SERVICE_ACCOUNT_PREFIX.length) }
    : { type: 'User', name };
}

const SHOWN_OF_NAME = 40;

/** The digest distinguishes names that are equal in lower-case letters and digits. */
export function memberID({ type, name }: MemberName): string {
  const readable = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, SHOWN_OF_NAME);
  const digest = hash('sha256', `${type} ${name}`).slice(0, 10);
  return [type.toLowerCase(), ...readable.split('-').filter((part) => part !== ''), digest].join('-');
}

/** A role by its word, or by its name. */
export function roleWord({ kind, name }: StoredBinding['roleRef']): string {
  const at = kind === 'ClusterRole' ? GIVEN_BY_MANAGE.indexOf(name) : -1;
  const level: string | undefined = LEVELS[at];
  if (level !== undefined) return level;
  return isLevel(name) ? `${kind}:${name}` : name;
}

/** The ClusterRole that is given by the word. */
export function clusterRoleOf(word: string): string {
  return isLevel(word) ? `stonegate:${word}` : word.replace(/^ClusterRole:/, '');
}

export function isLevel(word: string): boolean {
  return LEVELS.some((level) => level === word);
}

function highestRole(ways: readonly Way[]): string {
  const words = new Set(ways.map(({ binding }) => roleWord(binding.roleRef)));
  return LEVELS.findLast((level) => words.has(level)) ?? [...words].sort().join(', ');
}

/** Whether the role lets its holder give roles in the namespace. */
function givesRoles(role: StoredRole, namespace: string): boolean {
  const give = { verb: 'create', apiGroup: 'rbac.authorization.k8s.io', resource: 'rolebindings' };
  return roleAllows(role, { ...give, subresource: '', namespace, name: '', tenant: role.tenant });
}

export const ONLY_LEVELS = 'spec.role: only read, control, edit and manage can be given';

/**
 * The binding that gives the role, as it will be.
 *
 * @throws StatusError ObjectInvalid
 */
export function givenWay(
  { id }: Pick<FoundMember, 'id'>,
  word: string,
  { namespace, hasTenants }: MembersPlace,
  objects: TenantObjects,
): Way {
  if (hasTenants && !isLevel(word)) throw new StatusError('ObjectInvalid', ONLY_LEVELS);
  const name = clusterRoleOf(word);
  const none = { tenant: '', uid: '', revision: 0 };
  const roleRef = { kind: 'ClusterRole', name };
  const unknown = { ...none, resource: 'clusterroles', namespace: '', name, rules: [], labels: {} } as const;
  return {
    binding: {
      ...none,
      resource: 'rolebindings',
      namespace,
      name: bindingName(id, word),
      roleRef,
      subjects: [],
    },
    role: objects.role('', name) ?? unknown,
  };
}

/** Two replicas make one binding. */
export function bindingName(id: string, role: string): string {
  return `member:${id}:${role}`;
}

/**
 * Whether the member is the only one who may give roles by a RoleBinding of the namespace. Who may do so
 * everywhere is not counted: they may be out of reach of the members. Nor are service accounts, as which
 * no user logs in.
 */
export function isLastManager(
  members: readonly FoundMember[],
  { id }: FoundMember,
  namespace: string,
): boolean {
  const managers = members.filter(
    ({ type, ways }) => type !== 'ServiceAccount' && ways.some((way) => managesBy(way, namespace)),
  );
  return managers.length === 1 && managers[0]?.id === id;
}

export function managesBy(way: Way, namespace: string): boolean {
  return way.binding.namespace === namespace && givesRoles(way.role, namespace);
}
