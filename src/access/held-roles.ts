/**
 * The RBAC roles that a user has, by name. A role that the user may not read is only counted: its name may
 * say more than the user is to know.
 */
import type { StoredRole } from '../api/rbac-v1.ts';
import { type RBACUser, type SubjectByNamespace, subjectIn } from '../rbac/attributes.ts';
import { allows, grantsOf } from '../rbac/decide.ts';
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

export function heldRoles(index: RBACIndex, subject: SubjectByNamespace): HeldRoles {
  const places = new Map<StoredRole, Set<string>>();
  for (const namespace of placesOf(index, subject)) {
    const user = subjectIn(subject, namespace);
    for (const { binding, role } of grantsOf(index.objectsOf(user.tenant), user, namespace, new Set())) {
      const known = places.get(role) ?? new Set<string>();
      // A group that the user has in one namespace only may be bound everywhere.
      known.add(binding.namespace === '' && !known.has('') ? namespace : binding.namespace);
      places.set(role, known);
    }
  }
  const held = [...places].filter(([role]) => mayRead(index, subject, role));
  return {
    roles: held.map(([role, where]) => heldRole(role, where)).sort(byName),
    hidden: places.size - held.length,
  };
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

function placesOf(index: RBACIndex, { other, namespaces }: SubjectByNamespace): Set<string> {
  const places = new Set(['', ...namespaces.keys()]);
  for (const key of keysOfUser(other))
    for (const { namespace } of index.objectsOf(other.tenant).bindingsOfSubject(key)) places.add(namespace);
  return places;
}

function mayRead(index: RBACIndex, subject: SubjectByNamespace, role: StoredRole): boolean {
  const { resource, namespace, name, tenant } = role;
  const user: RBACUser = subjectIn(subject, namespace);
  const question = { verb: 'get', apiGroup: 'rbac.authorization.k8s.io', resource, subresource: '' };
  return allows(index, user, { ...question, namespace, name, tenant });
}
