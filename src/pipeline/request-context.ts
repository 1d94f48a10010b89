/**
 * The one object of a request: the stages fill it, audit, metrics and log read it. Each stage takes it under
 * the type that the stage before established and returns a narrower one, so that forwarding without an
 * authenticated user does not compile.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { Sender } from '../api/upstream-request.ts';
import type { Credential } from '../authentication/credential.ts';
import type { OpenStream } from '../flowcontrol/open-stream.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { StreamEndReason } from '../lib/telemetry.ts';
import type { OwnAPIRoute } from '../tenancy/own-api.ts';
import type { Route } from '../tenancy/tenancy-mode.ts';
import type { Crossing } from './crossing.ts';
import type { Exchange, ObservedRequest, Outcome } from './ports.ts';
import type { RouteKind } from './route-kind.ts';

export interface Received {
  readonly exchange: Exchange;
  readonly auditID: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The client first, then the trusted proxies it came through; see `client-address.ts`. */
  readonly sourceIPs: readonly [string, ...string[]];
}

export interface Identified extends Received {
  readonly info: RequestInfo;
}

export interface Authenticated extends Identified {
  readonly identity: Identity;
  /** Absent on an anonymous request. */
  readonly credential?: Credential;
  /** With whose credential the request is forwarded. */
  readonly sender: Sender;
}

export interface Scoped extends Authenticated {
  /** What the credential alone proves; `identity` also has the roles that count for this request. */
  readonly proven: Identity;
  readonly tenant: TenantName;
  /**
   * The user of the credential, with the extras that Stonegate may not impersonate: independent of its
   * current rights.
   */
  readonly named: UserInfo;
  /**
   * The user as the API server is to know them: of the credential, or the one that the request impersonates.
   */
  readonly user: UserInfo;
  /** The user of the credential, if the request impersonates another (`kubectl --as`), or is a guest's. */
  readonly impersonator?: UserInfo;
  /** Present if the user has entered another tenant: `user` is the guest, and `tenant` stays their own. */
  readonly crossing?: Crossing;
  /** The request's entry in the registry, if it is long-running. */
  readonly stream?: OpenStream;
}

/** Established by the stage `authorize` only. */
export interface Authorized extends Scoped {
  readonly authorized: true;
}

export interface Routed extends Authorized {
  readonly route: Route | OwnAPIRoute;
  /** Decides which handler responds. */
  readonly kind: RouteKind;
}

export interface Outgoing extends Routed {
  /**
   * The client's headers, cleaned, with the user's identity on them unless the client's own token is
   * forwarded.
   */
  readonly upstreamHeaders: HeaderList;
}

/** Created with all its fields: an object that grows changes its hidden class, which is slow. */
export class RequestContext implements Received, ObservedRequest {
  readonly exchange: Exchange;
  readonly auditID: string;
  readonly receivedAt: number;
  readonly sourceIPs: readonly [string, ...string[]];
  info?: RequestInfo;
  identity?: Identity;
  credential?: Credential;
  sender?: Sender;
  proven?: Identity;
  tenant?: TenantName;
  named?: UserInfo;
  user?: UserInfo;
  impersonator?: UserInfo;
  crossing?: Crossing;
  stream?: OpenStream;
  authorized?: true;
  route?: Route | OwnAPIRoute;
  kind?: RouteKind;
  upstreamHeaders?: HeaderList;
  impersonationSent?: boolean;
  outcome?: Outcome;
  ended?: StreamEndReason;
  /** Of the audit log: see `audit/audit-event.ts`. */
  auditText?: string;

  constructor(
    exchange: Exchange,
    auditID: string,
    receivedAt: number,
    sourceIPs: readonly [string, ...string[]],
  ) {
    this.exchange = exchange;
    this.auditID = auditID;
    this.receivedAt = receivedAt;
    this.sourceIPs = sourceIPs;
  }
}

export function setRequestInfo(received: Received, info: RequestInfo): asserts received is Identified {
  const context: RequestContext = received;
  context.info = info;
}

export function setIdentity(
  identified: Identified,
  identity: Identity,
  credential: Credential | undefined,
  sender: Sender,
): asserts identified is Authenticated {
  const context: RequestContext = identified;
  context.identity = identity;
  if (credential !== undefined) context.credential = credential;
  context.sender = sender;
}

/** The tenant is recorded also if the request is refused before its user is known. */
export function setTenant(authenticated: Authenticated, tenant: TenantName): void {
  const context: RequestContext = authenticated;
  context.proven = authenticated.identity;
  context.tenant = tenant;
}

/** @param identity the proven one with the roles that count for this request */
export function setRoles(authenticated: Authenticated, identity: Identity): void {
  const context: RequestContext = authenticated;
  context.identity = identity;
}

/**
 * To be called after `setTenant`.
 *
 * @param named the user of the credential
 * @param user the same without the extras that Stonegate may not impersonate
 */
export function setUser(
  authenticated: Authenticated,
  named: UserInfo,
  user: UserInfo,
): asserts authenticated is Scoped {
  const context: RequestContext = authenticated;
  context.named = named;
  context.user = user;
}

/** From here on `user` is the guest. */
export function setCrossing(scoped: Scoped, crossing: Crossing, guest: UserInfo): void {
  const context: RequestContext = scoped;
  context.crossing = crossing;
  context.impersonator = scoped.user;
  context.user = guest;
}

/** From here on `user` is the impersonated user. */
export function setImpersonatedUser(scoped: Scoped, user: UserInfo): void {
  const context: RequestContext = scoped;
  context.impersonator = scoped.user;
  context.user = user;
}

export function setStream(scoped: Scoped, stream: OpenStream): void {
  const context: RequestContext = scoped;
  context.stream = stream;
}

export function setRoute(
  authorized: Authorized,
  route: Route | OwnAPIRoute,
  kind: RouteKind,
): asserts authorized is Routed {
  const context: RequestContext = authorized;
  context.route = route;
  context.kind = kind;
}

export function setUpstreamHeaders(routed: Routed, headers: HeaderList): asserts routed is Outgoing {
  const context: RequestContext = routed;
  context.upstreamHeaders = headers;
}

/** For the audit log: the API server is asked as the user by Stonegate, or with the client's own token. */
export function setImpersonationSent(outgoing: Outgoing): void {
  const context: RequestContext = outgoing;
  context.impersonationSent = outgoing.sender.kind === 'stonegate';
}
