/**
 * The RBAC roles that a user has, by name. A role that the user may not read is only counted: its name may
 * say more than the user is to know.
 */
import type { StoredRole } from '../api/rbac-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import { type RBACUser, type SubjectByNamespace, subjectIn } from '../rbac/attributes.ts';
import { allows, grantsIn } from '../rbac/decide.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import { keysOfUser } from '../rbac/subject-key.ts';

export interface HeldRole {
  readonly kind: 'ClusterRole' | 'Role';
  readonly name: string;
  /** Whether it counts in the whole cluster or tenant. */
  readonly everywhere: boolean;
  /** Those in which it counts otherwise, sorted. */
  readonly namespaces: readonly string[];
}

export interface HeldRoles {
  readonly roles: readonly HeldRole[];
  /** Roles whose names the user may not read. */
  readonly hidden: number;
}

/** Namespaces or roles that are looked at in one step. */
const STEP = 500;

/** In steps, between which the process can do other work. */
export function* heldRolesInSteps(index: RBACIndex, subject: SubjectByNamespace): Generator<void, HeldRoles> {
  const places = yield* rolesByPlace(index, subject);
  const roles: HeldRole[] = [];
  let handled = 0;
  for (const [role, where] of places) {
    if (mayRead(index, subject, role)) roles.push(heldRole(role, where));
    handled += 1;
    if (handled % STEP === 0) yield;
  }
  return { roles: roles.sort(byName), hidden: places.size - roles.length };
}

/** Role → where it counts; `''` for everywhere. ClusterRoleBindings are read once for each user. */
function* rolesByPlace(
  index: RBACIndex,
  subject: SubjectByNamespace,
): Generator<void, Map<StoredRole, Set<string>>> {
  const places = new Map<StoredRole, Set<string>>();
  const everywhere = new Set(rolesIn(index, subject.cluster, ''));
  const add = (role: StoredRole, place: string) => {
    const known = places.get(role);
    if (known === undefined) places.set(role, new Set([place]));
    else known.add(place);
  };
  for (const role of everywhere) add(role, '');
  const further = memoizeByReference((user: RBACUser): readonly StoredRole[] =>
    user === subject.cluster ? [] : rolesIn(index, user, '').filter((role) => !everywhere.has(role)),
  );
  let handled = 0;
  for (const namespace of namespacesOf(index, subject)) {
    const user = subjectIn(subject, namespace);
    // A group that the user has in one namespace only may be bound everywhere.
    for (const role of further(user)) add(role, namespace);
    for (const role of rolesIn(index, user, namespace)) add(role, namespace);
    handled += 1;
    if (handled % STEP === 0) yield;
  }
  return places;
}

/** @param namespace empty for the ClusterRoleBindings */
function rolesIn(index: RBACIndex, user: RBACUser, namespace: string): readonly StoredRole[] {
  const grants = grantsIn(index.objectsOf(user.tenant), user, namespace, new Set());
  return Array.from(grants, ({ role }) => role);
}

function heldRole({ resource, name }: StoredRole, where: ReadonlySet<string>): HeldRole {
  return {
    kind: resource === 'roles' ? 'Role' : 'ClusterRole',
    name,
    everywhere: where.has(''),
    namespaces: [...where].filter((namespace) => namespace !== '').sort(),
  };
}

function byName(one: HeldRole, other: HeldRole): number {
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return (one.namespaces[0] ?? '') < (other.namespaces[0] ?? '') ? -1 : 1;
}

/** In which the user may have roles of their own. */
function namespacesOf(index: RBACIndex, { other, namespaces }: SubjectByNamespace): Set<string> {
  const names = new Set(namespaces.keys());
  for (const key of keysOfUser(other))
    for (const { namespace } of index.objectsOf(other.tenant).bindingsOfSubject(key)) names.add(namespace);
  names.delete('');
  return names;
}

function mayRead(index: RBACIndex, subject: SubjectByNamespace, role: StoredRole): boolean {
  const { resource, namespace, name, tenant } = role;
  const user: RBACUser = subjectIn(subject, namespace);
  const question = { verb: 'get', apiGroup: 'rbac.authorization.k8s.io', resource, subresource: '' };
  return allows(index, user, { ...question, namespace, name, tenant });
}
