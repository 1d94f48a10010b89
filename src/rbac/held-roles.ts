/**
 * The RBAC roles that a user has, by name. A role that the user may not read is only counted: its name may
 * say more than the user is to know.
 */
import type { StoredRole } from '../kubernetes/rbac-v1.ts';
import { type RBACUser, type SubjectByNamespace, subjectIn } from './attributes.ts';
import { allows } from './decide.ts';
import type { RBACIndex } from './rbac-index.ts';
import { inNamespace, type SortedBindings } from './sorted-bindings.ts';
import { keysOfUser } from './subject-key.ts';

export interface HeldRole {
  readonly kind: 'ClusterRole' | 'Role';
  readonly name: string;
  /** Whether it counts in the whole cluster or tenant. */
  readonly everywhere: boolean;
  /** The namespaces in which it counts otherwise, sorted. */
  readonly namespaces: readonly string[];
}

export interface HeldRoles {
  /** The first hundred, by name. */
  readonly roles: readonly HeldRole[];
  /** Roles whose names the user may not read. */
  readonly hiddenRoles: number;
  /** Roles that come after those. */
  readonly moreRoles: number;
}

const MAX_SHOWN = 100;
/** Roles of which it is decided whether the user may read them. */
const MAX_DECIDED = 1_000;

export function heldRoles(index: RBACIndex, subject: SubjectByNamespace): HeldRoles {
  const held = Array.from(rolesByPlace(index, subject), ([role, where]) => ({
    role,
    ...heldRole(role, where),
  }));
  held.sort(byName);
  const roles: HeldRole[] = [];
  let decided = 0;
  for (const { role, ...described } of held) {
    if (roles.length === MAX_SHOWN || decided === MAX_DECIDED) break;
    decided += 1;
    if (mayRead(index, subject, role)) roles.push(described);
  }
  return { roles, hiddenRoles: decided - roles.length, moreRoles: held.length - decided };
}

/** Role → where it counts; `''` for everywhere. */
function rolesByPlace(
  index: RBACIndex,
  { cluster, other, namespaces }: SubjectByNamespace,
): ReadonlyMap<StoredRole, ReadonlySet<string>> {
  const places = new Map<StoredRole, Set<string>>();
  const add = (user: RBACUser, bindingsOf: (all: SortedBindings) => SortedBindings, place?: string) => {
    const objects = index.objectsOf(user.tenant);
    for (const key of keysOfUser(user))
      for (const binding of bindingsOf(objects.bindingsOfSubject(key))) {
        const role = objects.roleOf(binding);
        if (role === undefined) continue;
        const known = places.get(role);
        if (known === undefined) places.set(role, new Set([place ?? binding.namespace]));
        else if (binding.namespace !== '' || !known.has('')) known.add(place ?? binding.namespace);
      }
  };
  add(cluster, (all) => inNamespace(all, ''));
  add(other, (all) => all.filter(({ namespace }) => namespace !== '' && !namespaces.has(namespace)));
  for (const [name, user] of namespaces) {
    add(user, (all) => inNamespace(all, name));
    // A group that the user has in one namespace only may be bound everywhere.
    add(user, (all) => inNamespace(all, ''), name);
  }
  return places;
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

function mayRead(index: RBACIndex, subject: SubjectByNamespace, role: StoredRole): boolean {
  const { resource, namespace, name, tenant } = role;
  const user: RBACUser = subjectIn(subject, namespace);
  const question = { verb: 'get', apiGroup: 'rbac.authorization.k8s.io', resource, subresource: '' };
  return allows(index, user, { ...question, namespace, name, tenant });
}
