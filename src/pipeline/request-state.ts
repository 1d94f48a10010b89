/**
 * What is known of a request after each stage. Each stage takes the previous type and returns a richer one, so
 * that forwarding without an authenticated user does not compile.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { Route } from '../tenancy/tenancy-mode.ts';
import type { Exchange } from './exchange.ts';

export interface Received {
  readonly exchange: Exchange;
  readonly auditID: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The client first, then the trusted proxies it came through; see `client-address.ts`. */
  readonly sourceIPs: readonly string[];
}

export interface Identified extends Received {
  readonly info: RequestInfo;
}

export interface Authenticated extends Identified {
  readonly identity: Identity;
}

export interface Scoped extends Authenticated {
  readonly tenant: TenantName;
  /** As the API server is to know them. */
  readonly user: UserInfo;
}

declare const authorized: unique symbol;
/** Only the authorize stage makes one. */
export interface Authorized extends Scoped {
  readonly [authorized]: true;
}

export interface Outgoing extends Authorized {
  readonly route: Route;
  /** Cleaned of what the client may not say; on a forward, with our identity on it. */
  readonly headers: HeaderList;
}
