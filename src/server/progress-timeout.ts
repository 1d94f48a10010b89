/**
 * A timeout for a client that makes no progress: it sends no request (RFC 9112 §9.5), or accepts no byte of a
 * response. All connections of a listener share a queue for each. Node's `keepAliveTimeout` would stop and
 * start a timer for each request.
 */
import { TimeoutEntry, type TimeoutQueue } from '../lib/timeout-queue.ts';

/**
 * The most checks within the timeout, which may be longer by one such part. With thousands of connections
 * there would otherwise be a wake-up for each.
 */
const CHECKS = 8;

export interface Progress {
  /** Grows with each byte. Undefined if nothing is awaited now. */
  readonly progress: number | undefined;
  /** Called once. */
  onTimeout(): void;
}

export class ProgressTimeout extends TimeoutEntry {
  readonly #queue: TimeoutQueue;
  readonly #target: Progress;
  #last = 0;
  #since = 0;

  constructor(queue: TimeoutQueue, target: Progress) {
    super();
    this.#queue = queue;
    this.#target = target;
  }

  /** Starts it unless it runs or nothing is awaited. Call when something may be awaited. */
  start(): void {
    if (this.linked) return;
    const { progress } = this.#target;
    if (progress === undefined) return;
    this.#last = progress;
    this.#since = this.#queue.clock.now();
    this.#queue.add(this);
  }

  /** Stops it until the next start. The timer of the queue runs on, so that no request sets one. */
  stop(): void {
    this.unlink();
  }

  /** Call when the connection has closed. */
  dispose(): void {
    this.unlink();
    this.#queue.stopIfEmpty();
  }

  check(now: number): number {
    const { timeout } = this.#queue;
    const { progress } = this.#target;
    if (progress === undefined) {
      this.unlink();
      return timeout;
    }
    if (progress !== this.#last) {
      this.#last = progress;
      this.#since = now;
    }
    const remaining = this.#since + timeout - now;
    if (remaining > 0) return Math.max(remaining, timeout / CHECKS);
    this.unlink();
    this.#target.onTimeout();
    return timeout;
  }
}
