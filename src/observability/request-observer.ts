/**
 * What audit, metrics and log see of each request, refused ones included. The proxy calls the observers.
 */
import type { ErrorCode } from '../errors/codes.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { RequestInfo, TenantName } from '../kubernetes/request-info.ts';
import type { Exchange, ResponseWriter } from '../lib/exchange.ts';
import type { Identity } from '../tenancy/identity.ts';

/** Why Stonegate ended a long-running request; `docs/lifecycle.md` explains each. */
export const STREAM_END_REASONS = [
  'expired',
  'refused',
  'changed',
  'dropped',
  'unverified',
  'max-age',
  'policy',
] as const;
export type StreamEndReason = (typeof STREAM_END_REASONS)[number];

/** A user has entered another tenant, or tried to. */
export interface AuditedCrossing {
  readonly tenant: string;
  /** The policy under which the request was allowed. */
  readonly policy: { readonly form: string; readonly name: string; readonly source: string };
}

/** The facts of a request that are known so far. The stages add to them. */
export interface ObservedRequest {
  /** The request as the client sent it. */
  readonly exchange: Pick<Exchange, 'method' | 'target' | 'headers' | 'bytesReceived'> & {
    readonly response: Pick<ResponseWriter, 'bytesSent'>;
  };
  readonly auditID: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The client's address first. */
  readonly sourceIPs: readonly string[];
  readonly info?: RequestInfo;
  readonly identity?: Identity;
  readonly tenant?: TenantName;
  /** The user as the API server is to know them: who sent the request, or the user that it impersonates. */
  readonly user?: UserInfo;
  /** The user who sent the request, if it impersonates another one (`kubectl --as`). */
  readonly impersonator?: UserInfo;
  /** Present if the user has entered another tenant: then `user` is the guest. */
  readonly crossing?: AuditedCrossing;
  /** True once the API server is asked as the user by Stonegate, and not with the client's own token. */
  readonly impersonationSent?: boolean;
  /** How the request ended. */
  readonly outcome?: Outcome;
  /** Why Stonegate ended a long-running request. */
  readonly ended?: StreamEndReason;
}

export interface Outcome {
  /** The HTTP status sent; 0 if the client was gone before there was one. */
  readonly status: number;
  /** If Stonegate refused. */
  readonly code?: ErrorCode;
  readonly message?: string;
  /** Written to the audit log only. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Thrown, for the log; never for the client. */
  readonly error?: unknown;
  /** True if the API server or the client closed the connection before the response was complete. */
  readonly aborted: boolean;
}

/** Sees every request, refused ones included. */
export interface RequestObserver {
  /** Called once, as soon as the user is known, or when it is clear that the user will not be known. */
  requestReceived(request: ObservedRequest): void;
  /** A long-running request's response has begun, with this status. */
  responseStarted(request: ObservedRequest, status: number): void;
  responseComplete(request: ObservedRequest): void;
}
