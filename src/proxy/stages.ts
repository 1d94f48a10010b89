/**
 * The stages of a request but the last, each a function from the type that the previous stage established to
 * a narrower one. `serve-request.ts` runs them to serve a request, `explain-request.ts` to explain one;
 * neither decides anything itself.
 */

import { StatusError } from '../errors/status-error.ts';
import type { AnonymousAccess } from '../identity/anonymous.ts';
import { runAuthenticators } from '../identity/authenticator.ts';
import { type Credential, credentialOf } from '../identity/credential.ts';
import type { RoleLookup } from '../identity/keystone/role-lookup.ts';
import type { RoleScope } from '../identity/keystone/roles-in-scope.ts';
import { forbidden } from '../kubernetes/forbidden.ts';
import type { RequestInfo, TenantName } from '../kubernetes/request-info.ts';
import type { UpstreamRights } from '../kubernetes/upstream-ports.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { actingTenant } from './acting-tenant.ts';
import { runAuthorizers } from './authorizer.ts';
import { addressesOther, crossingOf, guestOf, guestRules } from './crossing.ts';
import type { CombinedFeatures } from './feature.ts';
import { type ActAsOptions, resolveImpersonatedUser } from './impersonation/act-as.ts';
import { withImpersonationHeaders, withoutWithheld } from './impersonation/impersonate.ts';
import { hasImpersonationHeaders } from './impersonation/impersonation-request.ts';
import type { OwnAPI } from './own-api.ts';
import { passThrough, senderOf } from './pass-through.ts';
import { withAcceptedTypes } from './request/accepted-types.ts';
import { clientAddresses, type TrustedProxies } from './request/client-address.ts';
import { cleanClientHeaders } from './request/client-headers.ts';
import { readRequestInfo } from './request/request-info.ts';
import {
  type Authenticated,
  type Authorized,
  establish,
  type Identified,
  type Outgoing,
  type Received,
  RequestContext,
  type Routed,
  type Scoped,
} from './request-context.ts';
import { routeKind } from './route-kind.ts';

/** The facts and functions by which the stages decide; `app/proxy.ts` builds them for a configuration. */
export interface Stages extends CombinedFeatures, Pick<Runtime, 'clock' | 'random'> {
  readonly trustedProxies: TrustedProxies;
  readonly anonymousAccess: AnonymousAccess;
  readonly mode: TenancyMode;
  /** Stonegate's own API: the resources that are configured. */
  readonly ownAPI: OwnAPI;
  /** Absent if no roles are looked up. */
  readonly roles?: RoleLookup;
  readonly impersonation: Omit<ActAsOptions, 'mode' | 'limiter' | 'constrained'>;
  readonly upstreamRights: UpstreamRights;
  /** The API server's limit for all request headers together, in bytes. */
  readonly maxHeaderBytes: number;
}

export function receive(exchange: Exchange, { clock, random, trustedProxies }: Stages): RequestContext {
  const sourceIPs = clientAddresses(exchange.peerAddress, exchange.headers, trustedProxies);
  return new RequestContext(exchange, random.uuid(), clock.now(), sourceIPs);
}

/** @throws StatusError RequestMalformed */
export function parseRequestInfo(received: Received, { mode }: Stages): Identified {
  const { method, target } = received.exchange;
  return establish(received, { info: readRequestInfo(method, target, mode.facts) });
}

/** @throws StatusError as `credentialOf`, `runAuthenticators` and the authenticators do */
export function authenticate(
  identified: Identified,
  { authenticators, anonymousAccess }: Stages,
): Promise<Authenticated> | Authenticated {
  const { exchange, sourceIPs } = identified;
  const credential = credentialOf(exchange.headers, exchange.clientCertificate, exchange.connection);
  const anonymous = credential === undefined ? anonymousAccess(identified.info.rawPath) : undefined;
  const found = anonymous ?? runAuthenticators(authenticators, credential, { source: sourceIPs[0] });
  return found instanceof Promise
    ? found.then((identity) => authenticated(identified, identity, credential))
    : authenticated(identified, found, credential);
}

function authenticated(
  identified: Identified,
  identity: Identity,
  credential: Credential | undefined,
): Authenticated {
  const sender = senderOf(identity, credential);
  return establish(identified, { identity, sender, ...(credential && { credential }) });
}

/**
 * If the credential names no scope, the roles that count for this request are looked up here: which these are
 * depends on the tenant. Then it is decided whether the user may enter the tenant that the path addresses.
 *
 * @throws StatusError TenantUnknown, IdentityReserved, IdentityUnusable, KeystoneUnavailable, and as
 *   `crossingOf` does
 */
export function resolveTenant(authenticated: Authenticated, stages: Stages): Promise<Scoped> | Scoped {
  const { identity, info } = authenticated;
  const { mode, roles } = stages;
  const tenant = mode.tenantOf(identity);
  // The tenant is recorded also if the request is refused before its user is known.
  const inTenant = establish(authenticated, { proven: identity, tenant });
  if (roles === undefined || identity.assignmentsOf === undefined) return scoped(inTenant, stages);
  return roles
    .inScope(identity, roleScopeOf(info, identity, tenant, mode))
    .then((withRoles) => scoped(establish(inTenant, { identity: withRoles }), stages));
}

/** @param inTenant its identity has the roles that count for this request */
function scoped(
  inTenant: Authenticated & Pick<Scoped, 'proven' | 'tenant'>,
  { mode, tenantEntry, clock, upstreamRights: { withheld } }: Stages,
): Scoped {
  const { identity, tenant } = inTenant;
  const named = mode.userOf(identity, tenant);
  // With a client's own token, the API server itself knows the extras.
  const user = inTenant.sender.kind === 'client' ? named : withoutWithheld(named, withheld);
  const known = establish(inTenant, { named, user });
  if (known.info.addressed === undefined) return known;
  const options = { mode, now: clock.now(), ...(tenantEntry && { policies: tenantEntry }) };
  const crossing = crossingOf(known, tenant, user, options);
  if (crossing === undefined) return known;
  return establish(known, { crossing, impersonator: user, user: guestOf(crossing, mode) });
}

/**
 * What a request is about in Keystone's terms, for users whose roles are looked up. It follows from the one
 * parse that also decides authorization and forwarding. A guest's roles are those at home, outside of any
 * project.
 *
 * @param tenant the identity's own
 */
export function roleScopeOf(
  info: RequestInfo,
  { tenantOrigin }: Identity,
  tenant: TenantName,
  mode: Pick<TenancyMode, 'isClusterWide'>,
): RoleScope {
  const domainID = tenantOrigin.from === 'domain' ? tenantOrigin.domain.id : undefined;
  if (addressesOther(info, tenant)) return { domainID, namespace: '', cluster: false };
  const named = info.isResourceRequest ? info.tenant : '';
  return {
    domainID: named === '' || named === tenant ? domainID : undefined,
    namespace: info.isResourceRequest ? info.namespace : '',
    cluster: mode.isClusterWide(info, tenant),
  };
}

/**
 * Creates what the user's project lacks before the API server is asked about the user. If that fails, the API
 * server refuses the request. A guest's project is not the entered tenant's.
 *
 * @returns undefined if nothing is provisioned on request
 */
export function provision(
  { identity, exchange, crossing }: Scoped,
  { provisioner }: Stages,
): Promise<void> | undefined {
  return crossing === undefined ? provisioner?.ensure(identity, exchange.signal) : undefined;
}

/** @throws StatusError as `resolveImpersonatedUser` does; ImpersonationForbidden for a guest */
export function actAs(scoped: Scoped, stages: Stages): Promise<Scoped> | Scoped {
  if (!hasImpersonationHeaders(scoped.exchange.headers)) return scoped;
  if (scoped.crossing !== undefined)
    throw new StatusError(
      'ImpersonationForbidden',
      'impersonation is refused: a user of another tenant may not act as any user',
    );
  return actAsRequested(scoped, stages);
}

async function actAsRequested(
  scoped: Scoped,
  { mode, impersonation, limiter, upstreamRights }: Stages,
): Promise<Scoped> {
  const { constrained } = upstreamRights;
  const options = { ...impersonation, mode, limiter, constrained };
  const user = await resolveImpersonatedUser(scoped, options);
  return user === undefined ? scoped : establish(scoped, { impersonator: scoped.user, user });
}

/**
 * The only way to an `Authorized` request: through every authorizer.
 *
 * @throws StatusError as the authorizers do
 */
export function authorize(scoped: Scoped, { authorizers }: Stages): Promise<Authorized> | Authorized {
  const pending = runAuthorizers(authorizers, scoped);
  return pending === undefined ? authorized(scoped) : pending.then(() => authorized(scoped));
}

function authorized(scoped: Scoped): Authorized {
  return establish(scoped, { authorized: true });
}

/** @throws StatusError as the admission plugins do */
export function admit({ exchange, info }: Authorized, { admission }: Stages): void {
  for (const plugin of admission) plugin(exchange, info);
}

/**
 * @returns undefined if nothing must be waited for
 * @throws StatusError TenantRateExceeded, UserRateExceeded
 */
export function limit(authorized: Authorized, { limiter }: Stages): Promise<void> | undefined {
  return limiter?.admit(authorized, authorized.info);
}

/**
 * Stonegate's own API comes before the mode's: it is the same in all of them and is never forwarded. With a
 * client's own token only paths of its tenant are requested.
 *
 * @throws StatusError PathForbidden, NotFound, MethodNotAllowed
 */
export function rewrite(authorized: Authorized, { mode, ownAPI }: Stages): Routed {
  const { info, exchange, user, sender, crossing } = authorized;
  const tenant = actingTenant(authorized);
  const own = ownAPI.route(info, exchange.method, tenant);
  const decides = crossing === undefined ? mode : guestRules(mode);
  const route = own ?? decides.route(info, exchange.method, tenant, user);
  const asUser = route.kind === 'forward' || route.kind === 'self-review';
  if (asUser && sender.kind === 'client' && !mode.isWithinTenant(route.path, tenant))
    throw forbidden('PathForbidden', info, user.username, tenant);
  return establish(authorized, { route, kind: routeKind(authorized, route, mode) });
}

/** @throws StatusError ImpersonationForbidden, NotAcceptable, IdentityTooLarge, InvariantBroken */
export function impersonate(
  routed: Routed,
  { maxHeaderBytes, mode }: Pick<Stages, 'maxHeaderBytes' | 'mode'>,
): Outgoing {
  const fromClient = cleanClientHeaders(routed.exchange.headers, {
    impersonationHandled: routed.impersonator !== undefined && routed.sender.kind === 'stonegate',
  });
  const cleaned =
    routed.route.kind === 'forward' ? withAcceptedTypes(fromClient, routed.info, mode) : fromClient;
  const options = { maxHeaderBytes, auditID: routed.auditID, clientAddress: routed.sourceIPs[0] };
  const upstreamHeaders =
    routed.sender.kind === 'client'
      ? passThrough(cleaned, options)
      : withImpersonationHeaders(cleaned, routed.user, options);
  return establish(routed, { upstreamHeaders });
}
