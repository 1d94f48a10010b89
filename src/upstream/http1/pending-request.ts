/**
 * A request in the pool, from `send` to its end, and the queue of the requests that wait for a connection.
 */
import type { Clock } from '../../lib/clock.ts';
import { TimeoutEntry, TimeoutQueue } from '../../lib/timeout-queue.ts';
import type { Connection, ResponseHandler, WireRequest } from './connection.ts';
import type { IdleConnection } from './idle-connections.ts';

/** How far a request has come. */
export type Stage =
  /** Nothing is reserved for it. */
  | { readonly phase: 'unassigned' }
  /** It waits for a connection to become free or to be opened. */
  | { readonly phase: 'queued'; readonly queue: RequestQueue }
  /** It has an idle connection, and is sent once pending input was read. */
  | { readonly phase: 'scheduled'; readonly idle: IdleConnection }
  /** The connection sends it, receives its response, or has ended it. */
  | { readonly phase: 'sent'; readonly connection: Connection }
  | { readonly phase: 'done' };

export const UNASSIGNED: Stage = { phase: 'unassigned' };
const DONE: Stage = { phase: 'done' };

export class PendingRequest extends TimeoutEntry {
  readonly request: WireRequest;
  readonly handler: ResponseHandler;
  stage: Stage = UNASSIGNED;
  /** When its wait for a connection times out, in milliseconds since the epoch; set when it first waits. */
  queuedUntil = Number.NaN;
  readonly #onReturned: (idle: IdleConnection) => void;

  /** @param onReturned called with an idle connection that was not used */
  constructor(request: WireRequest, handler: ResponseHandler, onReturned: (idle: IdleConnection) => void) {
    super();
    this.request = request;
    this.handler = handler;
    this.#onReturned = onReturned;
  }

  /** Whether a connection has taken it. */
  get wasSent(): boolean {
    return this.stage.phase === 'sent';
  }

  /**
   * Cancels the request. Its handler is not called any more. An attempt to connect continues for the next
   * request, as in Go's transport: otherwise clients that send and cancel would cost the server a TLS
   * handshake each.
   *
   * @returns whether a connection was closed: HTTP/1.1 cancels a request that was sent in no other way
   */
  cancel(): boolean {
    const { stage } = this;
    this.stage = DONE;
    switch (stage.phase) {
      case 'queued':
        stage.queue.remove(this);
        return false;
      case 'scheduled':
        this.#onReturned(stage.idle);
        return false;
      case 'sent':
        if (!stage.connection.serves(this.handler)) return false;
        stage.connection.abandon();
        return true;
      case 'unassigned':
      case 'done':
        return false;
    }
  }

  /** Stops reading the response. What was read already is still delivered. */
  pause(): void {
    this.#connection?.pause();
  }

  resume(): void {
    this.#connection?.resume();
  }

  check(now: number): number {
    return this.stage.phase === 'queued'
      ? this.stage.queue.checkTimeout(this, now)
      : Number.POSITIVE_INFINITY;
  }

  /** Only while it works on this request: before and afterwards it may work on another. */
  get #connection(): Connection | undefined {
    const { stage } = this;
    return stage.phase === 'sent' && stage.connection.serves(this.handler) ? stage.connection : undefined;
  }
}

/** Requests for which there is no connection, in their order, each with a time limit. */
export class RequestQueue {
  readonly #timeouts: TimeoutQueue;
  readonly #onTimeout: (request: PendingRequest) => void;
  #size = 0;

  /**
   * @param timeout milliseconds that each request may wait
   * @param onTimeout called with a request that has left the queue
   */
  constructor(clock: Clock, timeout: number, onTimeout: (request: PendingRequest) => void) {
    this.#timeouts = new TimeoutQueue(clock, timeout);
    this.#onTimeout = onTimeout;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Appends the request. One that was taken but got no connection returns to the front, with its first time
   * limit.
   */
  add(request: PendingRequest): void {
    this.#size += 1;
    request.stage = { phase: 'queued', queue: this };
    const { clock, timeout } = this.#timeouts;
    if (Number.isNaN(request.queuedUntil)) {
      request.queuedUntil = clock.now() + timeout;
      this.#timeouts.add(request);
    } else this.#timeouts.addFirst(request, request.queuedUntil - clock.now());
  }

  /** Removes and returns the request that has waited longest. */
  take(): PendingRequest | undefined {
    const { first } = this.#timeouts;
    if (!(first instanceof PendingRequest)) return undefined;
    this.remove(first);
    first.stage = UNASSIGNED;
    return first;
  }

  remove(request: PendingRequest): void {
    this.#size -= 1;
    request.unlink();
    if (this.#size === 0) this.#timeouts.stop();
  }

  /** @returns milliseconds until the request has to be checked again */
  checkTimeout(request: PendingRequest, now: number): number {
    const left = request.queuedUntil - now;
    if (left > 0) return left;
    this.remove(request);
    request.stage = UNASSIGNED;
    this.#onTimeout(request);
    return this.#timeouts.timeout;
  }
}
