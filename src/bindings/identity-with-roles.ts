/**
 * An identity with the roles that count for a request: the groups that tokens scoped to those places would have. Extra
 * and the scope that is shown can tell of one place only: they are those of the narrowest, which the request concerns
 * most, so that whoever reads project and roles from them reads what belongs together.
 */
import type { Identity } from '../api/identity.ts';
import { identityScope, isSafeID, isUsableName, scopeExtra, scopeGroups } from '../api/keystone-groups.ts';
import { StatusError } from '../errors/status-error.ts';
import { type HeldRoles, scopeKey } from './roles-in-scope.ts';

/** On what the roles were looked up, for the audit log: `project 3f…: member, reader; domain …`. */
export const ROLES_ANNOTATION = 'keystone.stonegate.dev/roles';

/** A role's name that cannot be read as several roles or places; any other is quoted. */
const PLAIN = /^[\p{L}\p{N}_.-]+$/u;

/**
 * @param held the narrowest scope first
 * @returns the identity itself where no roles count
 * @throws StatusError IdentityUnusable where a name or an id cannot be part of a Kubernetes identity
 */
export function withRoles(identity: Identity, held: readonly HeldRoles[]): Identity {
  const [narrowest] = held;
  if (narrowest === undefined) return identity;
  for (const one of held) refuseUnusable(one);
  return {
    ...identity,
    groups: [...identity.groups, ...held.flatMap(({ scope, roles }) => scopeGroups(scope, roles))],
    extra: { ...identity.extra, ...scopeExtra(narrowest.scope, narrowest.roles) },
    scope: identityScope(narrowest.scope, narrowest.roles),
    auditAnnotations: {
      ...identity.auditAnnotations,
      [ROLES_ANNOTATION]: held.map(inWords).join('; '),
    },
  };
}

function inWords({ scope, roles }: HeldRoles): string {
  const names = roles.map(({ name }) => (PLAIN.test(name) ? name : JSON.stringify(name)));
  return `${scopeKey(scope)}: ${names.join(', ')}`;
}

function refuseUnusable({ scope, roles }: HeldRoles): void {
  const ids =
    scope.kind === 'project' ? [scope.project.id] : scope.kind === 'domain' ? [scope.domain.id] : [];
  const names = [...roles.map(({ name }) => name), ...(scope.kind === 'project' ? [scope.project.name] : [])];
  if (ids.every(isSafeID) && names.every(isUsableName)) return;
  throw new StatusError(
    'IdentityUnusable',
    'Forbidden: a role, or the project it is held on, has a name or an id in Keystone that fits into no group',
  );
}
