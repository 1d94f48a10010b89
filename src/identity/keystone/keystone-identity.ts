/**
 * Maps a Keystone token to an identity. `admin` and a system scope give no rights here beyond their group. A
 * delegated token (application credential, trust) has only the groups of its scope and roles, not those of
 * its user's federation, which were not delegated.
 * https://docs.openstack.org/api-ref/identity/v3/; https://github.com/kubernetes/cloud-provider-openstack
 */

import { StatusError } from '../../errors/status-error.ts';
import type { Extra } from '../../kubernetes/authentication-v1.ts';
import type { QualifiedIdentity, Subject } from '../../tenancy/identity.ts';
import {
  identityScope,
  isSafeID,
  isUsableName,
  KEYSTONE_EXTRA,
  scopeExtra,
  scopeGroups,
} from '../../tenancy/keystone-groups.ts';
import type { DomainReference, KeystoneToken } from '../../tenancy/keystone-v3.ts';

const ANNOTATION = 'keystone.stonegate.dev';
/**
 * @param token as validated by Keystone
 * @throws StatusError IdentityUnusable if a name or an id cannot be part of a Kubernetes identity
 */
export function identityOf(token: KeystoneToken): QualifiedIdentity {
  const scopeDomain = domainOf(token);
  const { user, scope, delegation } = token;
  refuseUnusableNames(token, scopeDomain);
  const subject: Subject = {
    kind: 'keystone',
    userName: user.name,
    userDomain: user.domain,
    scopeDomain,
    ...(delegation && { delegation: { kind: delegation.kind, id: safeID(delegation.id, 'delegation') } }),
  };
  return {
    authenticator: 'keystone',
    subject,
    tenantOrigin: { from: 'domain', domain: scopeDomain },
    uid: user.id,
    groups: groupsOf(token),
    extra: extraOf(token),
    scope: identityScope(scope, token.roles),
    ...(scope.kind === 'unscoped' && delegation === undefined && { assignmentsOf: user.id }),
    signedInAt: token.issuedAt,
    expiresAt: token.expiresAt,
    auditAnnotations: annotationsOf(token),
  };
}

function domainOf({ scope, user }: KeystoneToken): DomainReference {
  if (scope.kind === 'project') return scope.project.domain;
  return scope.kind === 'domain' ? scope.domain : user.domain;
}

function groupsOf({ scope, roles, federatedGroups, delegation }: KeystoneToken): string[] {
  const federated = delegation ? [] : federatedGroups.map((id) => `keystone:group:${safeID(id, 'group')}`);
  return [...scopeGroups(scope, roles), ...federated];
}

function extraOf({ scope, roles, user }: KeystoneToken): Extra {
  return {
    ...scopeExtra(scope, roles),
    [KEYSTONE_EXTRA.userDomainID]: [user.domain.id],
    [KEYSTONE_EXTRA.userDomainName]: [user.domain.name],
  };
}

function annotationsOf({ auditIDs, scope, delegation }: KeystoneToken): Record<string, string> {
  return {
    [`${ANNOTATION}/audit-id`]: auditIDs[0] ?? '',
    [`${ANNOTATION}/scope`]: scope.kind,
    ...(delegation?.kind === 'application-credential' && {
      [`${ANNOTATION}/application-credential`]: delegation.id,
    }),
    ...(delegation?.kind === 'trust' && {
      [`${ANNOTATION}/trust`]: delegation.id,
      // Under an impersonating trust the user is the trustor, but the trustee acts.
      [`${ANNOTATION}/trustee`]: delegation.trusteeUserID,
      [`${ANNOTATION}/trust-impersonation`]: String(delegation.impersonation),
    }),
  };
}

function refuseUnusableNames({ user, scope, roles }: KeystoneToken, scopeDomain: DomainReference): void {
  refuseUnusable(user.name, "the user's name");
  // The id is not part of any name, but with some directories it is free text.
  refuseUnusable(user.id, "the user's id");
  refuseUnusable(user.domain.name, "the name of the user's domain");
  refuseUnusable(scopeDomain.name, "the name of the scope's domain");
  safeID(user.domain.id, 'user domain');
  refuseUnusableScope(scope, roles);
}

/** @throws StatusError IdentityUnusable if a name or an id fits into no group */
export function refuseUnusableScope(scope: KeystoneToken['scope'], roles: KeystoneToken['roles']): void {
  if (scope.kind === 'project') {
    safeID(scope.project.id, 'project');
    refuseUnusable(scope.project.name, "the project's name");
  }
  if (scope.kind === 'domain') safeID(scope.domain.id, 'domain');
  for (const role of roles) refuseUnusable(role.name, "a role's name");
}

function refuseUnusable(name: string, what: string): void {
  if (isUsableName(name)) return;
  throw new StatusError(
    'IdentityUnusable',
    `Forbidden: ${what} in Keystone is empty, begins or ends with a space, or has control characters`,
  );
}

function safeID(id: string, what: string): string {
  if (isSafeID(id)) return id;
  throw new StatusError(
    'IdentityUnusable',
    `Forbidden: the ${what} id that Keystone returns is no usable id`,
  );
}
