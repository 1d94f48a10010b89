/**
 * Who has a role in a namespace, from the objects of the RBAC index: each subject with its grants. Pure.
 * A subject of a ClusterRoleBinding is a member if the role lets it get the namespace or give roles there,
 * unless it is a part of the cluster.
 */

import { hash } from 'node:crypto';
import { StatusError } from '../../errors/status-error.ts';
import type { StoredBinding, StoredRole } from '../../kubernetes/rbac-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { isReservedNamespace, SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { invalidObject } from '../../proxy/own-body.ts';
import { LEVELS } from '../../rbac/cluster-roles.ts';
import { coveredByRole, roleAllows } from '../../rbac/rules.ts';
import { groupKey, keysOfBinding, type SubjectKey, subjectOfKey, userKey } from '../../rbac/subject-key.ts';
import type { TenantObjects } from '../../rbac/tenant-objects.ts';
import { serviceAccountOf } from '../../tenancy/impersonation-target.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { TeamDirectory } from '../teams/feature.ts';
import { groupOf } from '../teams/team-v1alpha1.ts';
import type { MemberType } from './member-v1alpha1.ts';

export interface MemberName {
  readonly type: MemberType;
  readonly name: string;
}

/** A role that a subject has in the namespace, and the binding that gives it. */
export interface MemberGrant {
  readonly binding: StoredBinding;
  readonly role: StoredRole;
  /** The name of the team that the binding names; undefined if it names the subject itself. */
  readonly team?: string;
}

export interface FoundMember extends MemberName {
  /** The name of the member as an object of Kubernetes. It follows from type and name. */
  readonly id: string;
  readonly key: SubjectKey;
  /** Grants in the whole cluster or tenant come first. */
  readonly grants: readonly MemberGrant[];
  /** The word of the highest role, or the names of all. */
  readonly role: string;
  /** Whether the member may give roles in the namespace. */
  readonly owner: boolean;
}

export interface MembersPlace {
  readonly namespace: string;
  readonly tenant: TenantName;
  /** Whether the API server has tenants: then a binding does not count for another tenant's user. */
  readonly namesHaveTenant: boolean;
  readonly teams: TeamDirectory;
}

/** The most grants of a namespace's members. Users who write bindings decide how many there are. */
const MAX_GRANTS = 10_000;

/**
 * Sorted by id, hence by type.
 *
 * @throws StatusError ListTooLarge
 */
export function membersIn(objects: TenantObjects, place: MembersPlace): FoundMember[] {
  const count = createGrantCount(place);
  const grants = grantsIn(objects, place, count);
  const { tenant, teams } = place;
  const members = Array.from(grants, ([key, own]) => {
    const { kind, name } = subjectOfKey(key);
    const groups = kind === 'user' ? teams.groupsOf(tenant, name) : [];
    const ofTeams = groups.flatMap((group) => {
      const ofTeam = grants.get(groupKey(group)) ?? [];
      count(ofTeam.length);
      const team = memberNameOf(groupKey(group), tenant).name;
      return ofTeam.map((grant) => ({ ...grant, team }));
    });
    return memberOf(key, [...own, ...ofTeams], place);
  });
  return members.sort((one, other) => (one.id < other.id ? -1 : 1));
}

type CountGrants = (more: number) => void;

function createGrantCount({ namespace }: MembersPlace): CountGrants {
  let left = MAX_GRANTS;
  return (more) => {
    left -= more;
    if (left >= 0) return;
    throw new StatusError(
      'ListTooLarge',
      `the bindings that apply in ${JSON.stringify(namespace)} grant more than ${MAX_GRANTS} roles to users, groups and members of teams: its members are not listed or changed here; kubectl get rolebindings -n ${namespace}, and kubectl get clusterrolebindings, show the bindings`,
    );
  };
}

export function memberOf(
  key: SubjectKey,
  grants: readonly MemberGrant[],
  { tenant, namespace }: MembersPlace,
): FoundMember {
  const named = memberNameOf(key, tenant);
  const owner = grants.some(({ role }) => givesRoles(role, namespace));
  return { ...named, id: memberID(named), key, grants, role: highestRole(grants), owner };
}

function grantsIn(
  objects: TenantObjects,
  { namespace, tenant, namesHaveTenant }: MembersPlace,
  count: CountGrants,
) {
  const grants = new Map<SubjectKey, MemberGrant[]>();
  const shows = memoizeByReference((role: StoredRole) => {
    const get = { verb: 'get', apiGroup: '', resource: 'namespaces', subresource: '' };
    const covered = coveredByRole(role, get);
    return covered === 'all' || covered.has(namespace) || givesRoles(role, namespace);
  });
  for (const place of ['', namespace])
    for (const binding of objects.bindingsIn(place).values()) {
      const role = objects.roleOf(binding);
      if (role === undefined || (place === '' && !shows(role))) continue;
      count(binding.subjects.length);
      for (const key of keysOfBinding(binding)) {
        if (place === '' && isClusterComponent(key)) continue;
        if (namesHaveTenant && isOfOtherTenant(key, tenant)) continue;
        const known = grants.get(key);
        if (known === undefined) grants.set(key, [{ binding, role }]);
        else known.push({ binding, role });
      }
    }
  return grants;
}

/** Controllers, nodes and the like would be members of every namespace. */
function isClusterComponent(key: SubjectKey): boolean {
  const { name } = subjectOfKey(key);
  if (!name.startsWith(SERVICE_ACCOUNT_PREFIX)) return name.startsWith('system:');
  return isReservedNamespace(name.slice(SERVICE_ACCOUNT_PREFIX.length).split(':', 1)[0] ?? '');
}

function isOfOtherTenant(key: SubjectKey, tenant: TenantName): boolean {
  const { kind, name } = subjectOfKey(key);
  return kind === 'user' && !name.startsWith(`${tenant}:`) && !name.startsWith('system:');
}

function memberNameOf(key: SubjectKey, tenant: TenantName): MemberName {
  const { kind, name } = subjectOfKey(key);
  const teamPrefix = groupOf({ tenant, name: '' });
  if (kind === 'group' && name.startsWith(teamPrefix))
    return { type: 'Team', name: name.slice(teamPrefix.length) };
  if (kind === 'group') return { type: 'Group', name };
  return name.startsWith(SERVICE_ACCOUNT_PREFIX)
    ? { type: 'ServiceAccount', name: name.slice(SERVICE_ACCOUNT_PREFIX.length) }
    : { type: 'User', name };
}

/** @throws StatusError ImpersonationForbidden, IdentityUnusable, ObjectInvalid */
export function keyNamed(
  { type, name }: MemberName,
  { tenant }: MembersPlace,
  mode: Pick<TenancyMode, 'memberName'>,
): SubjectKey {
  switch (type) {
    case 'User':
      return userKey(mode.memberName(name, tenant));
    case 'Group':
      return groupKey(name);
    case 'Team':
      return groupKey(groupOf({ tenant, name }));
    case 'ServiceAccount': {
      const username = `${SERVICE_ACCOUNT_PREFIX}${name}`;
      if (serviceAccountOf(username) !== undefined) return userKey(username);
      throw invalidObject('Member', 'spec.name', 'a service account is NAMESPACE:NAME');
    }
  }
}

/** Characters of the name that are in the id. */
const READABLE_LENGTH = 40;

/**
 * The digest distinguishes names that are equal in lower-case letters and digits. It has 64 bits: users who
 * choose their names must not find one that gets the binding of another.
 */
export function memberID({ type, name }: MemberName): string {
  const readable = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, READABLE_LENGTH);
  const digest = hash('sha256', `${type} ${name}`).slice(0, 16);
  return [type.toLowerCase(), ...readable.split('-').filter((part) => part !== ''), digest].join('-');
}

/** The word of one of the four roles; the name of any other role. */
export function roleWord({ kind, name }: StoredBinding['roleRef']): string {
  const level = LEVELS.find((each) => kind === 'ClusterRole' && name === clusterRoleOf(each));
  if (level !== undefined) return level;
  return isLevel(name) ? `${kind}:${name}` : name;
}

/** The name of the ClusterRole that a word or a name stands for. */
export function clusterRoleOf(word: string): string {
  return isLevel(word) ? `stonegate:${word}` : word.replace(/^ClusterRole:/, '');
}

export function isLevel(word: string): boolean {
  return LEVELS.some((level) => level === word);
}

function highestRole(grants: readonly MemberGrant[]): string {
  const words = new Set(grants.map(({ binding }) => roleWord(binding.roleRef)));
  return LEVELS.findLast((level) => words.has(level)) ?? [...words].sort().join(', ');
}

/** Whether the role lets its holder give roles in the namespace. */
function givesRoles(role: StoredRole, namespace: string): boolean {
  const give = { verb: 'create', apiGroup: 'rbac.authorization.k8s.io', resource: 'rolebindings' };
  return roleAllows(role, { ...give, subresource: '', namespace, name: '', tenant: role.tenant });
}

/** The grant that a change adds. */
export function newGrant(
  { id }: Pick<FoundMember, 'id'>,
  word: string,
  { namespace }: Pick<MembersPlace, 'namespace'>,
  objects: TenantObjects,
): MemberGrant {
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

/** Follows from member and role, so that two replicas make one binding. */
export function bindingName(id: string, role: string): string {
  return `member:${id}:${role}`;
}

/**
 * Whether the member is the only one who may give roles by a RoleBinding of the namespace. Who may do so
 * everywhere is not counted, since members may not know how to reach them. Service accounts are not counted,
 * since no user logs in as one.
 */
export function isLastManager(
  members: readonly FoundMember[],
  { id }: FoundMember,
  namespace: string,
): boolean {
  const managers = members.filter(
    ({ type, grants }) => type !== 'ServiceAccount' && grants.some((grant) => managesBy(grant, namespace)),
  );
  return managers.length === 1 && managers[0]?.id === id;
}

/** Whether the grant lets its holder give roles, by a RoleBinding of the namespace. */
export function managesBy(grant: MemberGrant, namespace: string): boolean {
  return grant.binding.namespace === namespace && givesRoles(grant.role, namespace);
}
