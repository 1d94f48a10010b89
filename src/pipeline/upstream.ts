/**
 * The ports to the API server. Implemented in `upstream/`.
 */

import type { Account, Sender } from '../api/upstream-request.ts';
import type { StatusError } from '../errors/status-error.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { Exchange, Upgrade } from './exchange.ts';

export interface UpstreamRequest {
  readonly account: Account;
  /** With whose credential. */
  readonly sender: Sender;
  readonly method: string;
  /** Path and query exactly as they go out. Never passed through a URL parser: that would resolve dot segments. */
  readonly target: string;
  /** Complete but for the sender's credential and the framing fields, which the adapter adds. */
  readonly headers: HeaderList;
  /** No time limit on the answer, and idle silence is no fault. */
  readonly longRunning: boolean;
  /** The answer has no end of its own (a watch, a followed log): it ends when the server is about to stop. */
  readonly endless: boolean;
  /** Ends it before its client or the API server does; present on what is long-running. */
  readonly ending?: StreamEnding;
  /** Behind a `proxy` subresource, where a workload answers: its 401 is its own. So is any to a client's own token. */
  readonly proxied: boolean;
  /** A watch of which no BOOKMARK event may reach the client. */
  readonly dropsBookmarks: boolean;
  /** The API server itself responds, so that a refusal of Stonegate's rights in it is genuine; false without it. */
  readonly ownAnswer?: boolean;
  /** The whole body, if it was read before; else it is the exchange's. */
  readonly body?: Buffer;
}

export interface StreamEnding extends Cancellation {
  /** Whether the response is finished then. Otherwise it is broken off, so that the client sees an error. */
  readonly clean: boolean;
  /** Thrown if the response has not begun. */
  refusal(): StatusError;
}

export interface RelayHooks {
  /** Called once, when the response head is sent to the client. */
  onHead(status: number): void;
}

/** How a relayed answer ended. A failure before its head was sent is thrown instead. */
export interface RelayResult {
  readonly status: number;
  /** True where upstream or client went away in its midst. */
  readonly aborted: boolean;
}

export interface Forwarder {
  /**
   * Sends the request with the exchange's body and streams the answer back, both ways with backpressure.
   *
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, BodyTooLarge, BodyTimeout
   *   while nothing has been sent to the client
   */
  forward(request: UpstreamRequest, exchange: Exchange, hooks: RelayHooks): Promise<RelayResult>;
}

export interface Tunneller {
  /**
   * Opens the upgraded connection and joins both ends until either closes. An upstream that refuses has its
   * answer relayed; then both sides close.
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

/** A whole answer in memory: for what Stonegate asks. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

export interface UpstreamFetcher {
  /**
   * Asks with the sender's credential; with Stonegate's, and Impersonate headers in `headers`, as somebody.
   *
   * @throws StatusError UpstreamUnavailable, caused by `TooLarge` where the answer is longer than is taken;
   *   UpstreamTimeout, UpstreamRefusedCredential
   */
  fetch(
    request: Omit<
      UpstreamRequest,
      'longRunning' | 'endless' | 'ending' | 'proxied' | 'dropsBookmarks' | 'ownAnswer' | 'body'
    > & {
      readonly body?: Buffer | string;
    },
    signal: AbortSignal,
  ): Promise<UpstreamAnswer>;
}
