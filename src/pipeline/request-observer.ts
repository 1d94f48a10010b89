/**
 * The port through which audit and metrics see every request, refused ones included. Implemented in `audit/` and
 * `observability/`.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { ErrorCode } from '../errors/codes.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { StreamEndReason } from '../lib/telemetry.ts';

/** What is known of a request so far; the pipeline adds to it as its stages succeed. */
export interface RequestRecord {
  readonly auditID: string;
  readonly receivedAt: number;
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  readonly headers: HeaderList;
  readonly sourceIPs: readonly string[];
  info?: RequestInfo;
  identity?: Identity;
  tenant?: TenantName;
  /** Who sent the request, as the API server knows them. */
  user?: UserInfo;
  /** Whom they act as, where they asked to be somebody else and may. */
  actsAs?: UserInfo;
  /** True once the API server is asked as that user by Stonegate, and not with the user's own token. */
  impersonated?: boolean;
  /** How the request left the pipeline. */
  outcome?: Outcome;
  /** Why Stonegate ended a long-running request. */
  ended?: StreamEndReason;
}

export interface Outcome {
  /** The HTTP status sent; 0 where the client was gone before there was one. */
  readonly status: number;
  /** Where Stonegate refused. */
  readonly code?: ErrorCode;
  readonly message?: string;
  /** For the audit log alone. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Thrown, for the log; never for the client. */
  readonly error?: unknown;
  /** True where the answer broke off: the upstream or the client went away in its midst. */
  readonly aborted: boolean;
}

export interface RequestObserver {
  /** Called once, as soon as the user is known, or when it is clear that they will not be. */
  requestReceived(record: RequestRecord): void;
  /** A long-running request's response has begun, with this status. */
  responseStarted(record: RequestRecord, status: number): void;
  responseComplete(record: RequestRecord): void;
}
