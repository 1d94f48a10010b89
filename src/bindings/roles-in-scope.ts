/**
 * Which of a person's roles count for a request, where their token names no scope: those on what the request concerns,
 * and no others. Pure. A namespace concerns the project whose namespace it is and the domain of the tenant; everything
 * else of a tenant concerns its domain; what is the whole cluster's concerns Keystone's system. Another domain's
 * projects never count: whoever works there needs a token scoped to it, and acts as a member of that tenant then.
 *
 * Where a project or a domain is switched off, nobody holds a role, whatever the assignments say.
 */
import type { RoleReference } from '../api/keystone-v3.ts';
import type { AssignmentScope, DisabledScopes, RoleAssignment } from './ports.ts';

/** What a request concerns, in Keystone's terms. */
export interface RoleScope {
  /** The domain that is the tenant's; undefined where the request is about another tenant. */
  readonly domainID: string | undefined;
  /** Empty where it is about none. */
  readonly namespace: string;
  /** Whether it is about the whole cluster. */
  readonly cluster: boolean;
}

/** The roles held on one scope; at least one. */
export interface ScopedRoles {
  readonly scope: AssignmentScope;
  readonly roles: readonly RoleReference[];
}

export interface ScopeRules {
  readonly disabled: DisabledScopes;
  /** The namespace of a project; undefined where it has none. */
  readonly namespaceOf: NamespaceOf;
}

/** As the assignments tell of a project. */
export type NamespaceOf = (project: {
  readonly id: string;
  readonly name: string;
  readonly domainID: string;
}) => string | undefined;

/** @returns the narrowest scope first; none where no role counts */
export function rolesInScope(
  assignments: readonly RoleAssignment[],
  concern: RoleScope,
  rules: ScopeRules,
): readonly ScopedRoles[] {
  const scopes = new Map<string, { scope: AssignmentScope; roles: Map<string, RoleReference> }>();
  for (const { scope, role } of assignments) {
    if (!counts(scope, concern, rules)) continue;
    const key = scopeKey(scope);
    const held = scopes.get(key) ?? { scope, roles: new Map() };
    held.roles.set(role.id, role);
    scopes.set(key, held);
  }
  return [...scopes.values()]
    .map(({ scope, roles }) => ({ scope, roles: [...roles.values()] }))
    .sort((one, other) => ORDER[one.scope.kind] - ORDER[other.scope.kind]);
}

/** Names a scope; two of the same name are the same. */
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

function counts(scope: AssignmentScope, concern: RoleScope, { disabled, namespaceOf }: ScopeRules): boolean {
  switch (scope.kind) {
    case 'project': {
      const { id, name, domain } = scope.project;
      return (
        concern.namespace !== '' &&
        domain.id === concern.domainID &&
        !disabled.projectIDs.has(id) &&
        !disabled.domainIDs.has(domain.id) &&
        namespaceOf({ id, name, domainID: domain.id }) === concern.namespace
      );
    }
    case 'domain':
      return scope.domain.id === concern.domainID && !disabled.domainIDs.has(scope.domain.id);
    case 'system':
      return concern.cluster;
  }
}
