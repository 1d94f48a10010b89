/**
 * A rule about the body of a request before it is forwarded. The proxy reads the whole body, up to a bound,
 * parses it strictly, asks the rules, and forwards exactly what they have seen. A rule refuses by throwing.
 */
import { StatusError } from '../errors/status-error.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import { forbidden } from '../kubernetes/forbidden.ts';
import type { ResourceRequest, TenantName } from '../kubernetes/request-info.ts';
import type { Account, Sender } from '../kubernetes/upstream-request.ts';

/** `object` is the body of a create or update; the others are the kinds of PATCH. */
export type BodyFormat = 'object' | 'json-patch' | 'merge-patch' | 'strategic-merge-patch';

export interface InspectedBody {
  readonly format: BodyFormat;
  /**
   * Parsed JSON, not validated. A key occurs once, but another spelling of it may occur too: use `fieldOf`.
   */
  readonly content: unknown;
}

export interface InspectedRequest {
  readonly method: string;
  readonly info: ResourceRequest;
  /** The path as it is sent to the API server, without query. */
  readonly path: string;
  /** The user whom the API server sees: after impersonation. */
  readonly user: UserInfo;
  /** The tenant in which the request is made. */
  readonly tenant: TenantName;
  /** The account to which questions to the API server are charged. */
  readonly account: Account;
  readonly sender: Sender;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Reads the object that the request is about, with the user's own rights and on the request's account.
   *
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential
   */
  readStored(): Promise<UserResponse>;
}

export interface UserResponse {
  readonly status: number;
  /** Parsed JSON; undefined if the response is not JSON. */
  readonly content: unknown;
}

export interface BodyRule {
  /** The longest body, in bytes. */
  readonly maxBytes: number;
  /**
   * How many objects and arrays within each other the rule reads of JSON, of which deeper ones are digests;
   * for a rule that never changes the body. Absent if it reads all.
   */
  readonly depth?: number;
  /** The formats that can be inspected; any other body is refused with 415. */
  readonly formats: ReadonlySet<BodyFormat>;
  /** Whether the body has to be inspected. Called for every request with a body, so it must be fast. */
  appliesTo(info: ResourceRequest, tenant: TenantName): boolean;
  /**
   * @returns what to forward instead; undefined to forward the body as it came
   * @throws StatusError
   */
  admit(body: InspectedBody, request: InspectedRequest): Promise<unknown> | unknown;
}

/** @param why what in the body is refused */
export function bodyForbidden({ info, user, tenant }: InspectedRequest, why: string): StatusError {
  const { message, details } = forbidden('AccessDenied', info, user.username, tenant);
  return new StatusError('AccessDenied', `${message}: ${why}`, { ...(details && { details }) });
}
