/**
 * What the stages established, for an operator: in words, and as data. Header values are shown of the
 * identity and of what Stonegate writes itself only, since any other may hold a secret.
 */

import { StatusError } from '../../errors/status-error.ts';
import { credentialOf } from '../../identity/credential.ts';
import { readJWT, stringMember } from '../../identity/jwt/jwt-parser.ts';
import { ROLES_ANNOTATION } from '../../identity/keystone/role-lookup.ts';
import type { RequestInfo } from '../../kubernetes/request-info.ts';
import { isLastInstant, timestamp } from '../../lib/go-time.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import type { ObservedRequest } from '../../observability/request-observer.ts';
import type { Crossing } from '../../proxy/crossing.ts';
import type { Outgoing, Scoped } from '../../proxy/request-context.ts';
import { policyName } from '../../proxy/tenant-entry.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import type { Identity, QualifiedIdentity } from '../../tenancy/identity.ts';
import { FERNET_START } from '../../tenancy/keystone-v3.ts';
import type { SelfReview } from '../../tenancy/tenancy-mode.ts';
import { qualified } from '../../tenancy/user-name.ts';
import type { Explanation } from './stonegate-v1alpha1.ts';

const quoted = (text: string): string => JSON.stringify(text);

/** Names the kind of credential that the request carries, by its form alone. */
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
  if (!info.isResourceRequest)
    return [`${info.verb} of the path ${info.rawPath}, which names no resource`, addressedWords(info)]
      .filter(Boolean)
      .join(', ');
  const { verb, apiGroup, resource, subresource, name, namespace, tenant } = info;
  const kind = [apiGroup === '' ? resource : `${resource}.${apiGroup}`, subresource]
    .filter(Boolean)
    .join('/');
  return [
    `${verb} ${kind}`,
    name && quoted(name),
    namespace && `in the namespace ${quoted(namespace)}`,
    tenant && `of the tenant ${quoted(tenant)}, as the path says`,
    addressedWords(info),
    info.longRunning && '(long-running)',
  ]
    .filter(Boolean)
    .join(' ');
}

function addressedWords({ addressed }: RequestInfo): string {
  return addressed === undefined ? '' : `below the prefix of the tenant ${quoted(addressed.tenant)}`;
}

/** @param facts of the tenancy mode, which qualifies the user's name */
export function identityWords(identity: Identity, facts: TenancyFacts): string {
  const { authenticator, subject, scope, accessToken, expiresAt } = identity;
  const who = subjectWords(qualified(identity, facts).subject);
  const delegated =
    subject.kind === 'keystone' && subject.delegation
      ? `, by the ${subject.delegation.kind} ${subject.delegation.id}`
      : '';
  const token = accessToken === undefined ? '' : `, by the access token ${accessToken.id}`;
  const name = scope?.name === undefined ? '' : ` ${quoted(scope.name)}`;
  const inScope = scope === undefined ? '' : `, scope ${scope.kind}${name}`;
  const until = isLastInstant(expiresAt) ? '' : `, until ${timestamp(expiresAt)}`;
  return `${authenticator} vouches for ${who}${delegated}${token}${inScope}${until}`;
}

function subjectWords(subject: QualifiedIdentity['subject']): string {
  switch (subject.kind) {
    case 'keystone':
      return `user ${quoted(subject.userName)} of the domain ${quoted(subject.userDomain.name)}`;
    case 'claim':
      return quoted(subject.name);
    case 'upstream':
      return quoted(subject.user.username);
    case 'anonymous':
      return 'the anonymous user';
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

/** Says which roles of the identity do not come from the credential. */
export function rolesWords({ assignmentsOf, scope, auditAnnotations }: Identity): string {
  if (assignmentsOf === undefined || scope === undefined || scope.kind === 'unscoped') return '';
  return `; roles were looked up: ${auditAnnotations[ROLES_ANNOTATION]}`;
}

/** Says which policy decides that the user may enter another tenant. */
export function crossingWords(crossing: Crossing | undefined): string {
  if (crossing === undefined) return '';
  const { tenant, policy } = crossing;
  return `; the policy ${policyName(policy)} (${policy.source}) lets them into the tenant ${quoted(tenant)} and allows the request`;
}

export function actingWords({ user, impersonator, crossing }: Scoped): string {
  if (impersonator === undefined || crossing !== undefined)
    return 'the request is made as the user who sent it';
  return `${quoted(impersonator.username)} may act as ${quoted(user.username)}`;
}

type Route = Outgoing['route'];

/** Describes the request to the API server, as the user or as Stonegate; undefined if none is sent. */
function sentRequest(route: Route) {
  if (route.kind === 'own-api' || route.kind === 'own-discovery') return undefined;
  if (route.kind === 'self-review' && route.review === 'subject') return undefined;
  return { ...route, asUser: route.kind === 'self-review' || route.kind === 'forward' };
}

export function rewriteWords(route: Route, rawPath: string): string {
  const sent = sentRequest(route);
  if (sent === undefined) return 'the path is not sent on';
  return sent.path === rawPath ? 'the path stays as it is' : `the path becomes ${sent.path}`;
}

export function sentWords({ route }: Outgoing): string {
  return sentRequest(route)?.asUser === true
    ? 'the identity would be sent to the API server'
    : 'no header field of the request would be sent on';
}

const AS_ITSELF = 'Stonegate answers with what it fetches as itself';
const REVIEWS: Readonly<Record<SelfReview, string>> = {
  subject: 'Stonegate answers itself who the user is; the API server is not asked',
  access:
    'Stonegate answers the question about oneself, after asking the API server unless it grants that to everybody',
  rules: 'Stonegate answers the question about oneself, after asking the API server',
};

/** What the last stage would do. */
export function deliveryWords({ route, exchange, user, sender }: Outgoing): string {
  switch (route.kind) {
    case 'own-api':
    case 'own-discovery':
      return 'Stonegate answers it itself';
    case 'discovery':
      return route.reduce === 'none' ? AS_ITSELF : `${AS_ITSELF}, reduced to what the tenant may see`;
    case 'own-tenant':
      return `${AS_ITSELF}, reduced to what users of the tenant may see`;
    case 'self-review':
      return REVIEWS[route.review];
    case 'forward': {
      const how = sender.kind === 'client' ? 'with the very token of' : 'as';
      const { upgrade } = exchange;
      const way = upgrade === undefined ? 'forwarded' : `tunnelled (${upgrade.protocol})`;
      return `${way} to the API server ${how} ${quoted(user.username)}`;
    }
  }
}

type Status = Explanation['status'];
type RedactSecrets = (text: string) => string;

/**
 * The facts as far as the stages came.
 *
 * @param facts of the tenancy mode, which qualifies the user's name
 */
export function factsOf(
  { info, identity, tenant, user, impersonator }: ObservedRequest,
  facts: TenancyFacts,
  redactSecrets: RedactSecrets,
): Pick<Status, 'requestInfo' | 'identity' | 'tenant' | 'user' | 'impersonator'> {
  return {
    ...(info && { requestInfo: requestFacts(info, redactSecrets) }),
    ...(identity && { identity: identityFacts(qualified(identity, facts)) }),
    ...(tenant && { tenant }),
    ...(user && { user }),
    ...(impersonator && { impersonator }),
  };
}

/** The request to the API server: the forwarded one, or the one for Stonegate's own response. */
export function sentOf(
  { route, upstreamHeaders }: Outgoing,
  redactSecrets: RedactSecrets,
): Pick<Status, 'upstreamPath' | 'headers'> {
  const sent = sentRequest(route);
  if (sent === undefined) return {};
  const query = sent.query === '' ? '' : `?${redactSecrets(sent.query)}`;
  const upstreamPath = `${redactSecrets(sent.path)}${query}`;
  if (!sent.asUser) return { upstreamPath };
  return { upstreamPath, headers: upstreamHeaders.map(([name, value]) => shownHeader(name, value)) };
}

function requestFacts(
  info: RequestInfo,
  redactSecrets: RedactSecrets,
): Readonly<Record<string, string | boolean>> {
  const { isResourceRequest, verb } = info;
  if (!isResourceRequest) return { isResourceRequest, verb, path: redactSecrets(info.rawPath) };
  const { apiGroup, apiVersion, tenant, namespace, resource, subresource, name, longRunning } = info;
  const texts = { verb, apiGroup, apiVersion, tenant, namespace, resource, subresource, name };
  return {
    isResourceRequest,
    ...Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, redactSecrets(text)])),
    ...(longRunning !== undefined && { longRunning }),
  };
}

function identityFacts(identity: QualifiedIdentity): NonNullable<Status['identity']> {
  const { authenticator, uid, groups, scope, expiresAt, auditAnnotations } = identity;
  return {
    authenticator,
    uid,
    groups,
    ...(scope && { scope }),
    expirationTimestamp: timestamp(expiresAt),
    facts: auditAnnotations,
  };
}

/** Never the client's values: `client-headers.ts` takes those away. */
const OURS: ReadonlySet<string> = new Set(['audit-id', 'x-forwarded-for']);

function shownHeader(name: string, value: string): { name: string; value?: string } {
  const lower = name.toLowerCase();
  if (!OURS.has(lower) && !lower.startsWith('impersonate-')) return { name };
  // Header values are bytes; the identity's are UTF-8.
  return { name, value: Buffer.from(value, 'latin1').toString('utf8') };
}
