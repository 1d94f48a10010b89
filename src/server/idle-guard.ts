/**
 * Closes a kept HTTP/1 connection on which no request begins for too long. Node's own `keepAliveTimeout` would stop a timer
 * and start another for each request. A head that has begun is not idle: `headersTimeout` ends it where it is not finished.
 * RFC 9112 §9.5.
 */
import { TimeoutEntry, type TimeoutQueue } from '../lib/timeout-queue.ts';

/**
 * So many times in its patience a connection is looked at, at the most: with thousands of them one is always the next. It may
 * be kept for longer by one such part.
 */
const LOOKS = 8;

/** A connection that may be idle. */
export interface Kept {
  /** Bytes received so far; only its growth matters. */
  readonly received: number;
  /** Called once. */
  onIdle(): void;
}

export class IdleGuard extends TimeoutEntry {
  readonly #queue: TimeoutQueue;
  readonly #kept: Kept;
  #received = 0;
  #since = 0;

  /** @param queue of the listener; as long as a connection may be idle */
  constructor(queue: TimeoutQueue, kept: Kept) {
    super();
    this.#queue = queue;
    this.#kept = kept;
  }

  /** Nothing is owed any more. */
  begin(): void {
    this.unlink();
    this.#received = this.#kept.received;
    this.#since = this.#queue.clock.now();
    this.#queue.add(this);
  }

  /** A request is there. */
  end(): void {
    this.unlink();
  }

  /** The connection has ended. */
  stop(): void {
    this.unlink();
    if (this.#queue.empty) this.#queue.stop();
  }

  check(now: number): number {
    const { timeout: milliseconds } = this.#queue;
    const { received } = this.#kept;
    if (received !== this.#received) {
      this.#received = received;
      this.#since = now;
    }
    const left = this.#since + milliseconds - now;
    if (left > 0) return Math.max(left, milliseconds / LOOKS);
    this.unlink();
    this.#kept.onIdle();
    return milliseconds;
  }
}
