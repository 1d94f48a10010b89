/**
 * The ways to the API server: forwarding, tunnels, whole responses and streams. `upstream/` implements them.
 */
import type { Readable } from 'node:stream';
import type { StatusError } from '../errors/status-error.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { Exchange, Upgrade } from '../lib/exchange.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { Account, Sender } from './upstream-request.ts';

export interface UpstreamRequest {
  readonly account: Account;
  /** Says with whose credential the request is sent. */
  readonly sender: Sender;
  readonly method: string;
  /**
   * Path and query exactly as they are sent. Never passed through a URL parser: it would resolve dot
   * segments.
   */
  readonly target: string;
  /** Complete but for the sender's credential and the framing fields, which the adapter adds. */
  readonly headers: HeaderList;
  /** The response has no time limit, and an idle connection is no fault. */
  readonly longRunning: boolean;
  /**
   * The response has no end of its own (a watch, a followed log): it ends when the server is about to stop.
   */
  readonly endless: boolean;
  /** Ends it before its client or the API server does; present on what is long-running. */
  readonly ending?: StreamEnding;
  /**
   * Whether a 401 says nothing about Stonegate's credential: a workload responds (subresource `proxy`), or
   * the client's own token is sent.
   */
  readonly proxied: boolean;
  /** A watch of which no BOOKMARK event may reach the client. */
  readonly dropsBookmarks: boolean;
  /**
   * The API server itself responds, so that a refusal of Stonegate's rights in it is genuine; false if
   * absent.
   */
  readonly servedByAPIServer?: boolean;
  /** What a path in the response's `Location` begins with for this client, and not for the API server. */
  readonly locationPrefix?: string;
  /** The whole body, if it was read before; else it is the exchange's. */
  readonly body?: Buffer;
  /**
   * Called for a 403 of the API server, unless it is about Stonegate's own rights: what the client receives
   * instead; `withheld` if nothing is sent to the client; undefined for the 403 itself.
   *
   * @param body of the response; empty if it is not a small one in JSON
   */
  readonly onForbidden?: (body: Buffer) => Replacement | 'withheld' | undefined;
  /**
   * Called for a 201 of the API server, before the client has all of it; not if the body is large or
   * compressed. It must not throw.
   */
  readonly onCreated?: (body: Buffer) => void;
}

/** The other fields of the response's head stay. */
export interface Replacement {
  readonly status: number;
  /** Header fields of the body, with its length. */
  readonly headers: HeaderList;
  readonly body: Buffer;
}

export interface StreamEnding extends Cancellation {
  /** Whether the response is finished then. Otherwise it is aborted, so that the client sees an error. */
  readonly clean: boolean;
  /** Thrown if the response has not begun. */
  refusal(): StatusError;
}

export interface RelayHooks {
  /** Called once, when the response head is sent to the client. */
  onHead(status: number): void;
}

/** How a relayed response ended. A failure before its head was sent is thrown instead. */
export interface RelayResult {
  /** The status of the response that was received. */
  readonly status: number;
  /** Written to the audit log only. */
  readonly message?: string;
  /** Written to the audit log only. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** True if the API server or the client closed the connection before the response was complete. */
  readonly aborted: boolean;
}

export interface Forwarder {
  /**
   * Sends the request with the exchange's body and streams the response back, both ways with backpressure.
   *
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, BodyTooLarge,
   *   BodyTimeout while nothing has been sent to the client
   */
  forward(request: UpstreamRequest, exchange: Exchange, hooks: RelayHooks): Promise<RelayResult>;
}

export interface Tunneller {
  /**
   * Opens the upgraded connection and joins both ends until either closes. If the API server refuses, its
   * response is relayed; then both sides close.
   *
   * @throws StatusError as `Forwarder.forward` does
   */
  tunnel(
    request: UpstreamRequest,
    exchange: Exchange,
    upgrade: Upgrade,
    hooks: RelayHooks,
  ): Promise<RelayResult>;
}

/**
 * A whole response in memory: the API server's to a request of Stonegate's own, or Stonegate's in its place.
 * The body may be shared by many responses: it is only read.
 */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
  /** Written to the audit log only. */
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * Gives back the memory of the body, idempotent. To be called once it is written. Absent if it is not
   * accounted for.
   */
  readonly release?: () => void;
}

export interface UpstreamFetcher {
  /**
   * Sends the request with the sender's credential; with Stonegate's, and Impersonate headers in `headers`,
   * as that user.
   *
   * @throws StatusError UpstreamUnavailable, caused by `TooLarge` if the response is longer than allowed;
   *   UpstreamTimeout, UpstreamRefusedCredential
   */
  fetch(
    request: Pick<UpstreamRequest, 'account' | 'sender' | 'method' | 'target' | 'headers'> & {
      readonly body?: Buffer | string;
    },
    signal: AbortSignal,
  ): Promise<UpstreamResponse>;
}

/** A response that is read while it arrives: a watch. */
export interface UpstreamStream {
  readonly status: number;
  readonly headers: HeaderList;
  /** Ends with the response; fails if it breaks off. If it is destroyed, the request ends. */
  readonly body: Readable;
}

export interface UpstreamStreamer {
  /**
   * Sends a GET whose response has no end of its own, with the sender's credential, and with Impersonate
   * headers in `headers`, as that user. It has no time limit; the caller notices silence.
   *
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential before the response
   */
  stream(
    request: Pick<UpstreamRequest, 'account' | 'sender' | 'target' | 'headers'>,
    signal: AbortSignal,
  ): Promise<UpstreamStream>;
}

/** Streams that are parts of one watch. */
export interface UpstreamPartsStreamer {
  /**
   * Admits a watch of so many parts by the rate of its tenant. No part is refused for it afterwards.
   *
   * @throws StatusError TenantRateExceeded
   */
  admitParts(account: Account, count: number): AdmittedParts;
}

export interface AdmittedParts {
  /** As `UpstreamStreamer.stream`. */
  readonly stream: UpstreamStreamer['stream'];
  /** Gives back the rate of the parts that were not opened. Idempotent. */
  release(): void;
}

/** What Stonegate's own credential may do at the API server. */
export interface UpstreamRights {
  /** The optional extra keys that are omitted; another object after each change. */
  readonly withheld: ReadonlySet<string>;
  /** Whether the API server has constrained impersonation. */
  readonly constrained: boolean;
  /**
   * Reports that the API server refused a request because of Stonegate's own rights: they are reviewed again.
   */
  refused(): void;
}
