/**
 * What each stage made, in words for an operator, up to where the request goes (`explain-delivery.ts`).
 */
import type { Identity } from '../api/identity.ts';
import { FERNET_START } from '../api/keystone-v3.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { credentialOf } from '../authentication/credential.ts';
import { readJWT, stringMember } from '../authentication/jwt-parser.ts';
import { ROLES_ANNOTATION } from '../bindings/role-lookup.ts';
import { StatusError } from '../errors/status-error.ts';
import type { HeaderList } from '../lib/header-list.ts';
import { isLastInstant, timestamp } from '../lib/timestamp.ts';
import type { Scoped } from './request-state.ts';

const quoted = (text: string): string => JSON.stringify(text);

/** What kind of credential the request carries, by its looks alone. */
export function credentialWords(headers: HeaderList): string {
  try {
    const credential = credentialOf(headers);
    if (credential === undefined) return 'none';
    switch (credential.kind) {
      case 'bearer':
        return `bearer token: ${tokenWords(credential.token)}`;
      case 'x-auth-token':
        return `X-Auth-Token: ${tokenWords(credential.token)}`;
      case 'basic':
        return `a password of the user ${quoted(credential.userName)}`;
      case 'certificate':
        return 'a client certificate';
    }
  } catch (error) {
    if (error instanceof StatusError) return 'not readable';
    throw error;
  }
}

function tokenWords(token: string): string {
  if (token.startsWith(FERNET_START)) return 'a Keystone token (Fernet)';
  const parts = readJWT(token);
  if (parts === undefined) return `opaque, ${token.length} characters`;
  const issuer = stringMember(parts.payload, 'iss');
  const { exp } = parts.payload;
  const end = typeof exp === 'number' && exp >= 0 ? `, expires ${timestamp(exp * 1_000)}` : '';
  return `a JWT ${issuer === undefined ? 'without issuer' : `that says its issuer is ${quoted(issuer)}`}${end}`;
}

export function requestWords(info: RequestInfo): string {
  if (!info.isResourceRequest) return `${info.verb} of the path ${info.rawPath}, which names no resource`;
  const { verb, apiGroup, resource, subresource, name, namespace, tenant } = info;
  const kind = [apiGroup === '' ? resource : `${resource}.${apiGroup}`, subresource]
    .filter(Boolean)
    .join('/');
  return [
    `${verb} ${kind}`,
    name && quoted(name),
    namespace && `in the namespace ${quoted(namespace)}`,
    tenant && `of the tenant ${quoted(tenant)}, as the path says`,
    info.longRunning && '(long-running)',
  ]
    .filter(Boolean)
    .join(' ');
}

export function identityWords({ authenticator, subject, scope, expiresAt }: Identity): string {
  const who = subjectWords(subject);
  const delegated =
    subject.kind === 'keystone' && subject.delegation
      ? `, by the ${subject.delegation.kind} ${subject.delegation.id}`
      : '';
  const name = scope?.name === undefined ? '' : ` ${quoted(scope.name)}`;
  const where = scope === undefined ? '' : `, scope ${scope.kind}${name}`;
  const until = isLastInstant(expiresAt) ? '' : `, until ${timestamp(expiresAt)}`;
  return `${authenticator} vouches for ${who}${delegated}${where}${until}`;
}

function subjectWords(subject: Identity['subject']): string {
  switch (subject.kind) {
    case 'keystone':
      return `user ${quoted(subject.userName)} of the domain ${quoted(subject.userDomain.name)}`;
    case 'claim':
      return quoted(subject.name);
    case 'upstream':
      return quoted(subject.user.username);
    case 'anonymous':
      return 'nobody';
  }
}

export function tenantWords({ tenantOrigin, subject }: Identity, tenant: string, userName: string): string {
  if (tenantOrigin.from === 'nowhere')
    return `no tenant; the API server is to know the user as ${quoted(userName)}`;
  const origin =
    tenantOrigin.from === 'domain'
      ? `the Keystone domain ${quoted(tenantOrigin.domain.name)}`
      : subject.kind === 'upstream'
        ? 'the token, its user or the configuration'
        : 'the credential or its configuration';
  return `${origin} gives the tenant ${quoted(tenant)}; the API server is to know the user as ${quoted(userName)}`;
}

/** What of the identity is not the credential's doing. */
export function rolesWords({ assignmentsOf, scope, auditAnnotations }: Identity): string {
  if (assignmentsOf === undefined || scope === undefined || scope.kind === 'unscoped') return '';
  return `; roles were looked up: ${auditAnnotations[ROLES_ANNOTATION]}`;
}

export function actingWords({ user, impersonator }: Scoped): string {
  if (impersonator === undefined) return 'the request is made as whom it is from';
  return `${quoted(impersonator.username)} may act as ${quoted(user.username)}`;
}
