/**
 * The stages of a request's way but the last, each a function from what is known to more. `serve-request.ts` walks
 * them to serve, `explain-request.ts` to say what would happen; neither decides anything by itself.
 */
import type { AdmissionPlugin } from '../admission/admission.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { AnonymousAccess } from '../authentication/anonymous.ts';
import { type Authenticator, authenticate } from '../authentication/authenticator.ts';
import { type Credential, credentialOf } from '../authentication/credential.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { RequestProvisioning } from '../bindings/on-request.ts';
import type { RoleLookup } from '../bindings/role-lookup.ts';
import { forbidden } from '../errors/forbidden.ts';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import { ownAPIRoute } from '../tenancy/own-api.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { withAcceptedTypes } from './accepted-types.ts';
import { type ActAsOptions, actAs } from './act-as.ts';
import { asAuthorized } from './authorized.ts';
import { clientAddresses, type TrustedProxies } from './client-address.ts';
import { cleanClientHeaders } from './client-headers.ts';
import { impersonate } from './impersonate.ts';
import { wishesToAct } from './impersonation-request.ts';
import { passThrough, senderOf } from './pass-through.ts';
import type { Exchange, RequestRecord, UpstreamRights } from './ports.ts';
import { parseRequestInfo } from './request-info.ts';
import {
  type Authenticated,
  type Authorized,
  becomeAuthenticated,
  becomeIdentified,
  becomeOutgoing,
  becomeRouted,
  becomeScoped,
  type Identified,
  type Outgoing,
  Passage,
  type Received,
  type Routed,
  type Scoped,
} from './request-state.ts';
import { concernOf } from './role-concern.ts';
import { withoutWithheld } from './upstream-rights.ts';

/** What the stages decide by; built once for a configuration, in `app/pipeline.ts`. */
export interface Stages {
  readonly clock: Clock;
  readonly random: Random;
  readonly trustedProxies: TrustedProxies;
  readonly authenticators: readonly Authenticator[];
  readonly anonymousAccess: AnonymousAccess;
  readonly mode: TenancyMode;
  /** Absent where none are looked up. */
  readonly roles?: RoleLookup;
  /** Absent where nothing is made when people come. */
  readonly provisioning?: RequestProvisioning;
  /** For those who act as somebody else. */
  readonly impersonation: Omit<ActAsOptions, 'mode' | 'limitTenant' | 'constrained'>;
  readonly upstreamRights: UpstreamRights;
  readonly authorizers: readonly Authorizer[];
  readonly admission: readonly AdmissionPlugin[];
  /** @throws StatusError TenantRateExceeded */
  readonly limitTenant: (tenant: string) => void;
  /** What the API server takes of request headers in all, in bytes. */
  readonly maxHeaderBytes: number;
}

export function receive(exchange: Exchange, { clock, random, trustedProxies }: Stages): Received {
  return new Passage({
    exchange,
    auditID: random.uuid(),
    receivedAt: clock.now(),
    sourceIPs: clientAddresses(exchange.peerAddress, exchange.headers, trustedProxies),
  });
}

/** @throws StatusError RequestMalformed */
export function identify(received: Received, record: RequestRecord, { mode }: Stages): Identified {
  const { method, target } = received.exchange;
  const info = parseRequestInfo(method, target, mode);
  record.info = info;
  becomeIdentified(received, info);
  return received;
}

/** @throws StatusError as `credentialOf`, `authenticate` and the authenticators do */
export function authenticateRequest(
  identified: Identified,
  record: RequestRecord,
  { authenticators, anonymousAccess }: Stages,
): Promise<Authenticated> | Authenticated {
  const { exchange, sourceIPs } = identified;
  const credential = credentialOf(exchange.headers, exchange.clientCertificate, exchange.connection);
  const nobody = credential === undefined ? anonymousAccess(identified.info.rawPath) : undefined;
  const found = nobody ?? authenticate(authenticators, credential, { source: sourceIPs[0] });
  return found instanceof Promise
    ? found.then((identity) => authenticated(identified, record, identity, credential))
    : authenticated(identified, record, found, credential);
}

function authenticated(
  identified: Identified,
  record: RequestRecord,
  identity: Identity,
  credential: Credential | undefined,
): Authenticated {
  record.identity = identity;
  becomeAuthenticated(identified, identity, credential, senderOf(identity, credential));
  return identified;
}

/**
 * Where the credential names no scope, the roles that count for this request are looked up here: what a request concerns
 * is known only with its tenant.
 *
 * @throws StatusError TenantUnknown, IdentityReserved, IdentityUnusable, KeystoneUnavailable
 */
export function resolveTenant(
  authenticated: Authenticated,
  record: RequestRecord,
  { mode, roles, upstreamRights }: Stages,
): Promise<Scoped> | Scoped {
  const { identity: proven, info } = authenticated;
  const tenant = mode.tenantOf(proven);
  record.tenant = tenant;
  if (roles === undefined || proven.assignmentsOf === undefined)
    return scoped(authenticated, record, proven, tenant, mode, upstreamRights);
  return roles
    .inScope(proven, concernOf(info, proven, tenant, mode))
    .then((identity) => scoped(authenticated, record, identity, tenant, mode, upstreamRights));
}

/** @param identity with the roles that count for this request */
function scoped(
  authenticated: Authenticated,
  record: RequestRecord,
  identity: Identity,
  tenant: TenantName,
  mode: TenancyMode,
  { withheld }: UpstreamRights,
): Scoped {
  record.identity = identity;
  const named = mode.userOf(identity, tenant);
  // With a client's own token, the API server itself says the extras.
  const user = authenticated.sender.kind === 'client' ? named : withoutWithheld(named, withheld);
  record.user = user;
  becomeScoped(authenticated, identity, tenant, named, user);
  return authenticated;
}

/**
 * What a person's project needs is there before the API server is asked about them; what could not be made, it refuses.
 *
 * @returns undefined where nothing is made when people come
 */
export function provision(
  { identity, exchange }: Scoped,
  { provisioning }: Stages,
): Promise<void> | undefined {
  return provisioning?.ensure(identity, exchange.signal);
}

/** @throws StatusError as `actAs` does */
export function actAsRequested(
  scoped: Scoped,
  record: RequestRecord,
  stages: Stages,
): Promise<Scoped> | Scoped {
  return wishesToAct(scoped.exchange.headers) ? actAsWished(scoped, record, stages) : scoped;
}

async function actAsWished(
  scoped: Scoped,
  record: RequestRecord,
  { mode, impersonation, limitTenant, upstreamRights }: Stages,
): Promise<Scoped> {
  const { constrained } = upstreamRights;
  const acting = await actAs(scoped, { ...impersonation, mode, limitTenant, constrained });
  if (acting.impersonator !== undefined) record.actsAs = acting.user;
  return acting;
}

/** @throws StatusError as the authorizers do */
export function authorizeRequest(scoped: Scoped, { authorizers }: Stages): Promise<Authorized> | Authorized {
  return asAuthorized(scoped, authorizers);
}

/** @throws StatusError as the admission plugins do */
export function admit({ exchange, info }: Authorized, { admission }: Stages): void {
  for (const plugin of admission) plugin.admit(exchange, info);
}

/**
 * Stonegate's own API comes before the mode's: it is the same in all of them and is never forwarded. With a client's
 * own token only what is their tenant's is asked for.
 *
 * @throws StatusError PathForbidden, NotFound, MethodNotAllowed
 */
export function rewrite(authorized: Authorized, { mode }: Stages): Routed {
  const { info, exchange, tenant, user, sender } = authorized;
  const route = ownAPIRoute(info, exchange.method) ?? mode.route(info, exchange.method, tenant, user);
  const asked = route.kind === 'forward' || route.kind === 'self-review';
  if (asked && sender.kind === 'client' && !mode.isWithinTenant(route.path, tenant))
    throw forbidden('PathForbidden', info, user.username, tenant);
  becomeRouted(authorized, route);
  return authorized;
}

/** @throws StatusError ImpersonationForbidden, NotAcceptable, IdentityTooLarge, InvariantBroken */
export function impersonateRequest(
  routed: Routed,
  { maxHeaderBytes, mode }: Pick<Stages, 'maxHeaderBytes' | 'mode'>,
): Outgoing {
  const fromClient = cleanClientHeaders(routed.exchange.headers, {
    wishHeeded: routed.impersonator !== undefined && routed.sender.kind === 'stonegate',
  });
  const cleaned =
    routed.route.kind === 'forward' ? withAcceptedTypes(fromClient, routed.info, mode) : fromClient;
  const options = { maxHeaderBytes, auditID: routed.auditID, clientAddress: routed.sourceIPs[0] };
  const headers =
    routed.sender.kind === 'client'
      ? passThrough(cleaned, options)
      : impersonate(cleaned, routed.user, options);
  becomeOutgoing(routed, headers);
  return routed;
}
