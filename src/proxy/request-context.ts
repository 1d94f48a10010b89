/**
 * The one object of a request: the stages fill it, audit, metrics and log read it. Each stage takes it under
 * the type that the stage before established and returns a narrower one, so that forwarding without an
 * authenticated user does not compile.
 */

import type { Credential } from '../identity/credential.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { RequestInfo, TenantName } from '../kubernetes/request-info.ts';
import type { Sender } from '../kubernetes/upstream-request.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { ObservedRequest, Outcome, StreamEndReason } from '../observability/request-observer.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { Route } from '../tenancy/tenancy-mode.ts';
import type { Crossing } from './crossing.ts';
import type { OwnAPIRoute } from './own-api.ts';
import type { RouteKind } from './route-kind.ts';
import type { OpenStream } from './streams/open-stream.ts';

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
  /** Says with whose credential the request is forwarded. */
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
   * The user whom the API server sees: that of the credential, or the one that the request impersonates.
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
  /** The beginning of the audit log's lines: see `observability/audit-event.ts`. */
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

/** Records what a stage has established on the request's own object, and returns it as a narrower type. */
export function establish<C extends Received, F extends Partial<RequestContext>>(
  received: C,
  fields: F,
): C & F {
  return Object.assign(received, fields);
}

/** Records for the audit log whether Stonegate impersonates the user or sends the client's own token. */
export function setImpersonationSent(outgoing: Outgoing): void {
  establish(outgoing, { impersonationSent: outgoing.sender.kind === 'stonegate' });
}
