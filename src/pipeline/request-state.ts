/**
 * What is known of a request after each stage. Each stage takes the previous type and returns a richer one, so
 * that forwarding without an authenticated user does not compile. Behind the types is one object for the whole way, which
 * the functions at the end fill in: a copy at each stage would cost more than what most stages do.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { Sender } from '../api/upstream-request.ts';
import type { Credential } from '../authentication/credential.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { OwnAPIRoute } from '../tenancy/own-api.ts';
import type { Route } from '../tenancy/tenancy-mode.ts';
import type { Exchange } from './ports.ts';

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
  /** With whose credential the request goes on. */
  readonly sender: Sender;
}

export interface Scoped extends Authenticated {
  /** Whom the credential alone proves; `identity` has the roles that count for this request too. */
  readonly proven: Identity;
  readonly tenant: TenantName;
  /** Who sent the request, with the extras that Stonegate may not impersonate: the same whatever it may at the moment. */
  readonly named: UserInfo;
  /** As the API server is to know them: who sent the request, or whom they act as. */
  readonly user: UserInfo;
  /** Who sent the request, where they act as somebody else. */
  readonly impersonator?: UserInfo;
}

/** Made by `authorized.ts` alone. */
export interface Authorized extends Scoped {
  readonly authorized: true;
}

export interface Routed extends Authorized {
  readonly route: Route | OwnAPIRoute;
}

export interface Outgoing extends Routed {
  /** The client's headers, cleaned, with the person's identity on them unless their own token says who they are. */
  readonly headers: HeaderList;
}

/** With room for all that is to come: an object that grows is slow to make. */
export class Passage implements Received {
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
  authorized?: true;
  route?: Route | OwnAPIRoute;
  headers?: HeaderList;

  constructor({ exchange, auditID, receivedAt, sourceIPs }: Received) {
    this.exchange = exchange;
    this.auditID = auditID;
    this.receivedAt = receivedAt;
    this.sourceIPs = sourceIPs;
  }
}

export function becomeIdentified(received: Received, info: RequestInfo): asserts received is Identified {
  const passage: Passage = received;
  passage.info = info;
}

export function becomeAuthenticated(
  identified: Identified,
  identity: Identity,
  credential: Credential | undefined,
  sender: Sender,
): asserts identified is Authenticated {
  const passage: Passage = identified;
  passage.identity = identity;
  if (credential !== undefined) passage.credential = credential;
  passage.sender = sender;
}

/**
 * @param identity with the roles that count for this request too
 * @param named who sent it; `user` is the same without what Stonegate may not impersonate
 */
export function becomeScoped(
  authenticated: Authenticated,
  identity: Identity,
  tenant: TenantName,
  named: UserInfo,
  user: UserInfo,
): asserts authenticated is Scoped {
  const passage: Passage = authenticated;
  passage.proven = authenticated.identity;
  passage.identity = identity;
  passage.tenant = tenant;
  passage.named = named;
  passage.user = user;
}

export function becomeRouted(
  authorized: Authorized,
  route: Route | OwnAPIRoute,
): asserts authorized is Routed {
  const passage: Passage = authorized;
  passage.route = route;
}

export function becomeOutgoing(routed: Routed, headers: HeaderList): asserts routed is Outgoing {
  const passage: Passage = routed;
  passage.headers = headers;
}
