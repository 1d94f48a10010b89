/**
 * Selects the roles that count for a request, if the user's token has no scope. Pure. A namespace counts for
 * its project and the tenant's domain, other objects of a tenant for its domain, cluster-wide objects for
 * Keystone's system. Projects of another domain never count: they need a token with that scope.
 */

import type { AssignmentScope, RoleAssignment, RoleReference } from '../../tenancy/keystone-v3.ts';
import type { DisabledScopes } from './keystone-directory.ts';

/** The scope of a request in Keystone's terms. */
export interface RoleScope {
  /** The tenant's domain; undefined if the request is for another tenant. */
  readonly domainID: string | undefined;
  /** Empty if the request has none. */
  readonly namespace: string;
  /** Whether the request is cluster-wide. */
  readonly cluster: boolean;
}

/** The roles held on one scope; at least one. */
export interface ScopedRoles {
  readonly scope: AssignmentScope;
  readonly roles: readonly RoleReference[];
}

export interface ScopeRules {
  readonly disabled: DisabledScopes;
  /** The namespace of a project; undefined if it has none. */
  readonly namespaceOf: NamespaceOf;
}

/** Finds the namespace of a project from the fields that a role assignment contains. */
export type NamespaceOf = (project: {
  readonly id: string;
  readonly name: string;
  readonly domainID: string;
}) => string | undefined;

/** @returns the narrowest scope first; empty if no role counts */
export function rolesInScope(
  assignments: readonly RoleAssignment[],
  roleScope: RoleScope,
  rules: ScopeRules,
): readonly ScopedRoles[] {
  const scopes = new Map<string, { scope: AssignmentScope; roles: Map<string, RoleReference> }>();
  for (const { scope, role } of assignments) {
    if (!counts(scope, roleScope, rules)) continue;
    const key = scopeKey(scope);
    const held = scopes.get(key) ?? { scope, roles: new Map() };
    held.roles.set(role.id, role);
    scopes.set(key, held);
  }
  return [...scopes.values()]
    .map(({ scope, roles }) => ({ scope, roles: [...roles.values()] }))
    .sort((one, other) => ORDER[one.scope.kind] - ORDER[other.scope.kind]);
}

/** Identifies a scope. */
export function scopeKey(scope: AssignmentScope): string {
  switch (scope.kind) {
    case 'project':
      return `project ${scope.project.id}`;
    case 'domain':
      return `domain ${scope.domain.id}`;
    case 'system':
      return 'system';
  }
}

const ORDER = { project: 0, domain: 1, system: 2 } as const;

function counts(
  scope: AssignmentScope,
  roleScope: RoleScope,
  { disabled, namespaceOf }: ScopeRules,
): boolean {
  switch (scope.kind) {
    case 'project':
      return (
        roleScope.namespace !== '' &&
        projectNamespace(scope.project, roleScope.domainID, { disabled, namespaceOf }) === roleScope.namespace
      );
    case 'domain':
      return scope.domain.id === roleScope.domainID && !disabled.domainIDs.has(scope.domain.id);
    case 'system':
      return roleScope.cluster;
  }
}

/** @returns undefined if roles on the project count in no namespace of the domain's tenant */
function projectNamespace(
  { id, name, domain }: Extract<AssignmentScope, { kind: 'project' }>['project'],
  domainID: string | undefined,
  { disabled, namespaceOf }: ScopeRules,
): string | undefined {
  const counts = domain.id === domainID && !disabled.projectIDs.has(id) && !disabled.domainIDs.has(domain.id);
  return counts ? namespaceOf({ id, name, domainID: domain.id }) : undefined;
}

/** The namespaces in which roles on a project count, each once. */
export function projectNamespaces(
  assignments: readonly RoleAssignment[],
  domainID: string,
  rules: ScopeRules,
): readonly string[] {
  const namespaces = new Set<string>();
  for (const { scope } of assignments) {
    if (scope.kind !== 'project') continue;
    const namespace = projectNamespace(scope.project, domainID, rules);
    if (namespace !== undefined) namespaces.add(namespace);
  }
  return [...namespaces];
}
