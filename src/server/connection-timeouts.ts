/**
 * Two timeouts of a client connection on shared timeout queues: `IdleTimeout` closes an HTTP/1.1 connection
 * without requests, `StallTimeout` cancels a response of which the client accepts no byte. Node's
 * `keepAliveTimeout` would stop and start a timer for each request.
 * RFC 9112 §9.5.
 */
import { TimeoutEntry, type TimeoutQueue } from '../lib/timeout-queue.ts';

/**
 * The most checks of an idle connection within its timeout; it may be open for one such part longer. With
 * thousands of connections there would otherwise be a wake-up for each.
 */
const IDLE_CHECKS = 8;

export interface IdleTarget {
  /** Bytes received so far; only its growth matters. */
  readonly received: number;
  /** Called once. */
  onIdle(): void;
}

/** A request head that has begun to arrive is not idle: `headersTimeout` limits it. */
export class IdleTimeout extends TimeoutEntry {
  readonly #queue: TimeoutQueue;
  readonly #target: IdleTarget;
  #received = 0;
  #since = 0;

  /** @param queue shared by the listener's connections */
  constructor(queue: TimeoutQueue, target: IdleTarget) {
    super();
    this.#queue = queue;
    this.#target = target;
  }

  /** Call when no response is pending. */
  start(): void {
    this.unlink();
    this.#received = this.#target.received;
    this.#since = this.#queue.clock.now();
    this.#queue.add(this);
  }

  /** Call when a request has arrived. */
  stop(): void {
    this.unlink();
  }

  /** Call when the connection has closed. */
  dispose(): void {
    this.unlink();
    if (this.#queue.empty) this.#queue.stop();
  }

  check(now: number): number {
    const { timeout } = this.#queue;
    const { received } = this.#target;
    if (received !== this.#received) {
      this.#received = received;
      this.#since = now;
    }
    const remaining = this.#since + timeout - now;
    if (remaining > 0) return Math.max(remaining, timeout / IDLE_CHECKS);
    this.unlink();
    this.#target.onIdle();
    return timeout;
  }
}

export interface StallTarget {
  /** Bytes written that the client has not accepted. */
  readonly unsent: number;
  /** Bytes the client has accepted; only its growth matters. */
  readonly sent: number;
  /** Called once. */
  onStall(): void;
}

/**
 * Runs only while there are unsent bytes: a watch without events never stalls. Each accepted byte restarts
 * it.
 */
export class StallTimeout extends TimeoutEntry {
  readonly #queue: TimeoutQueue;
  readonly #target: StallTarget;
  #sent = 0;
  #since = 0;

  /** @param queue of the connection */
  constructor(queue: TimeoutQueue, target: StallTarget) {
    super();
    this.#queue = queue;
    this.#target = target;
  }

  /** Call after every write. */
  onWrite(): void {
    if (this.linked || this.#target.unsent === 0) return;
    this.#sent = this.#target.sent;
    this.#since = this.#queue.clock.now();
    this.#queue.add(this);
  }

  /** Stops it until the next write. */
  stop(): void {
    this.unlink();
  }

  check(now: number): number {
    const { timeout } = this.#queue;
    const { unsent, sent } = this.#target;
    if (unsent === 0) {
      this.unlink();
      return timeout;
    }
    if (sent !== this.#sent) {
      this.#sent = sent;
      this.#since = now;
      return timeout;
    }
    const remaining = this.#since + timeout - now;
    if (remaining > 0) return remaining;
    this.unlink();
    this.#target.onStall();
    return timeout;
  }
}
