/**
 * Reads what `GET /v3/role_assignments?include_names` lists. Asked with `effective`, groups, inheritance and implied
 * roles are resolved already, but the system's assignments are left out: those are listed as they were made, so that
 * who is in which group, and which role implies which, has to be worked out here.
 * https://docs.openstack.org/api-ref/identity/v3/#list-role-assignments
 */
import type { RoleReference, UserReference } from '../api/keystone-v3.ts';
import type { AssignmentScope, RoleAssignment } from '../bindings/keystone-directory.ts';
import type { JSONObject } from '../lib/json-object.ts';
import { list, named, namedInDomain, record, text } from './keystone-fields.ts';

/** A role on the system, as it was given: to a user, or to a group. */
export interface SystemAssignment {
  readonly holder: { readonly user: UserReference } | { readonly groupID: string };
  readonly role: RoleReference;
}

/** Role id → the roles it implies. */
export type Implications = ReadonlyMap<string, readonly RoleReference[]>;

/** @throws Error for what is no effective assignment */
export function readAssignment(value: unknown): RoleAssignment {
  const fields = record(value, 'role_assignments[]');
  return {
    user: namedInDomain(fields.user, 'user'),
    role: named(fields.role, 'role'),
    scope: readScope(record(fields.scope, 'scope')),
  };
}

/**
 * An assignment that every project below inherits counts nowhere itself: `effective` lists it for each of those.
 *
 * @throws Error for what is no scope
 */
function readScope(scope: JSONObject): AssignmentScope {
  if (scope.project !== undefined)
    return { kind: 'project', project: namedInDomain(scope.project, 'project') };
  if (scope.domain !== undefined) return { kind: 'domain', domain: named(scope.domain, 'domain') };
  if (record(scope.system, 'scope.system').all !== true) throw new Error('the scope is none that is known');
  return { kind: 'system' };
}

/** @throws Error for what is no assignment on the system */
export function readSystemAssignment(value: unknown): SystemAssignment {
  const fields = record(value, 'role_assignments[]');
  if (readScope(record(fields.scope, 'scope')).kind !== 'system')
    throw new Error('the scope is not the system');
  return {
    holder:
      fields.group === undefined
        ? { user: namedInDomain(fields.user, 'user') }
        : { groupID: text(record(fields.group, 'group').id, 'group.id') },
    role: named(fields.role, 'role'),
  };
}

/** One of `GET /v3/role_inferences`, as an entry of the map. */
export function readImplication(value: unknown): [string, readonly RoleReference[]] {
  const fields = record(value, 'role_inferences[]');
  const implied = list(fields.implies, 'implies').map((role) => named(role, 'implies[]'));
  return [text(record(fields.prior_role, 'prior_role').id, 'prior_role.id'), implied];
}

/** Those roles, and what they imply, and what that implies; each once. */
export function withImplied(roles: readonly RoleReference[], implications: Implications): RoleReference[] {
  const found = new Map(roles.map((role) => [role.id, role]));
  // A map is walked in the order of insertion, what is added on the way included.
  for (const id of found.keys()) {
    for (const role of implications.get(id) ?? []) if (!found.has(role.id)) found.set(role.id, role);
  }
  return [...found.values()];
}
