/**
 * Who a Keystone token makes somebody. Groups and delegations are named by ids: names are free text, repeat across
 * domains and may go stale. Role names have no use without being readable, so they stand last in a group's name with
 * what could confuse escaped. The extra keys and values are those of k8s-keystone-auth, names as they are.
 *
 * `admin` and a system scope mean nothing beyond their group here: only a binding of the cluster gives them rights.
 * A delegated token (application credential, trust) has the groups of its own scope and roles only, not those of its
 * user's federation: it must not inherit what was not delegated.
 * https://docs.openstack.org/api-ref/identity/v3/; https://github.com/kubernetes/cloud-provider-openstack
 */
import type { Identity, IdentityScope, Subject } from '../api/identity.ts';
import type { DomainReference, KeystoneToken } from '../api/keystone-v3.ts';
import { StatusError } from '../errors/status-error.ts';

const EXTRA = 'alpha.kubernetes.io/identity';
const ANNOTATION = 'keystone.stonegate.dev';
const SAFE_ID = /^[A-Za-z0-9_.-]{1,255}$/;
const CONTROL = /\p{Cc}/u;
/** What separates the parts of a group's name or introduces an escape, and blanks of any kind. */
const ESCAPED = /[%:\s]/gu;

/**
 * @param token as Keystone vouched for it
 * @throws StatusError IdentityUnusable where a name or an id cannot be part of a Kubernetes identity
 */
export function identityOf(token: KeystoneToken): Identity {
  const scopeDomain = domainOf(token);
  const { user, delegation } = token;
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
    scope: scopeOf(token),
    expiresAt: token.expiresAt,
    auditAnnotations: annotationsOf(token),
  };
}

function domainOf({ scope, user }: KeystoneToken): DomainReference {
  if (scope.kind === 'project') return scope.project.domain;
  return scope.kind === 'domain' ? scope.domain : user.domain;
}

function groupsOf({ scope, roles, federatedGroups, delegation }: KeystoneToken): string[] {
  const own = (prefix: string) => roles.map((role) => `${prefix}:role:${escapeName(role.name)}`);
  const federated = delegation ? [] : federatedGroups.map((id) => `keystone:group:${safeID(id, 'group')}`);
  switch (scope.kind) {
    case 'project': {
      const project = `keystone:project:${safeID(scope.project.id, 'project')}`;
      return [project, ...own(project), ...federated];
    }
    case 'domain':
      return [...own(`keystone:domain:${safeID(scope.domain.id, 'domain')}`), ...federated];
    case 'system':
      return [...own('keystone:system'), ...federated];
    case 'unscoped':
      return federated;
  }
}

function extraOf({ scope, roles, user }: KeystoneToken): Record<string, string[]> {
  return {
    ...(roles.length > 0 && { [`${EXTRA}/roles`]: roles.map((role) => role.name) }),
    ...(scope.kind === 'project' && {
      [`${EXTRA}/project/id`]: [scope.project.id],
      [`${EXTRA}/project/name`]: [scope.project.name],
    }),
    [`${EXTRA}/user/domain/id`]: [user.domain.id],
    [`${EXTRA}/user/domain/name`]: [user.domain.name],
  };
}

function scopeOf({ scope, roles }: KeystoneToken): IdentityScope {
  const names = roles.map(({ name }) => name);
  if (scope.kind === 'project')
    return { kind: 'project', id: scope.project.id, name: scope.project.name, roles: names };
  if (scope.kind === 'domain')
    return { kind: 'domain', id: scope.domain.id, name: scope.domain.name, roles: names };
  return { kind: scope.kind, roles: names };
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
      // Under an impersonating trust the user is the trustor, but it is the trustee who acts.
      [`${ANNOTATION}/trustee`]: delegation.trusteeUserID,
      [`${ANNOTATION}/trust-impersonation`]: String(delegation.impersonation),
    }),
  };
}

function refuseUnusableNames({ user, scope, roles }: KeystoneToken, scopeDomain: DomainReference): void {
  refuseUnusable(user.name, "the user's name");
  // No part of any name: under some directories it is free text too.
  refuseUnusable(user.id, "the user's id");
  refuseUnusable(user.domain.name, "the name of the user's domain");
  refuseUnusable(scopeDomain.name, "the name of the scope's domain");
  safeID(user.domain.id, 'user domain');
  if (scope.kind === 'project') refuseUnusable(scope.project.name, "the project's name");
  for (const role of roles) refuseUnusable(role.name, "a role's name");
}

function refuseUnusable(name: string, what: string): void {
  // A lone surrogate would go out as the replacement character, as every other one does.
  if (name !== '' && name.trim() === name && !CONTROL.test(name) && name.isWellFormed()) return;
  throw new StatusError(
    'IdentityUnusable',
    `Forbidden: ${what} in Keystone is empty, begins or ends with a blank, or has control characters`,
  );
}

function safeID(id: string, what: string): string {
  if (SAFE_ID.test(id)) return id;
  throw new StatusError('IdentityUnusable', `Forbidden: the ${what} id that Keystone gives is no usable id`);
}

function escapeName(name: string): string {
  return name.replace(ESCAPED, encodeURIComponent);
}
