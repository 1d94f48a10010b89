/**
 * A timer that expires after a time without activity. It is touched any number of times and computes what is
 * left when it is checked: a new timer for each chunk would cost more than the chunk.
 */
import { TimeoutEntry, type TimeoutQueue } from '../../lib/timeout-queue.ts';

export class InactivityTimer extends TimeoutEntry {
  readonly #timeouts: TimeoutQueue;
  readonly #onExpired: () => void;
  #lastActivity: number;
  #held = false;

  /**
   * Starts at once.
   *
   * @param timeouts the queue of all timers with this time
   * @param onExpired called once at most
   */
  constructor(timeouts: TimeoutQueue, onExpired: () => void) {
    super();
    this.#timeouts = timeouts;
    this.#onExpired = onExpired;
    this.#lastActivity = timeouts.clock.now();
    timeouts.add(this);
  }

  /** Starts the time anew. */
  touch(): void {
    this.#lastActivity = this.#timeouts.clock.now();
  }

  /** Suspends the timer: the inactivity is our own (backpressure). */
  hold(): void {
    this.#held = true;
  }

  /** Starts the time anew after `hold`. */
  release(): void {
    this.#held = false;
    this.touch();
  }

  stop(): void {
    this.unlink();
    this.#timeouts.stopIfEmpty();
  }

  check(now: number): number {
    const { timeout } = this.#timeouts;
    const left = this.#held ? timeout : this.#lastActivity + timeout - now;
    if (left > 0) return left;
    this.stop();
    this.#onExpired();
    return timeout;
  }
}
