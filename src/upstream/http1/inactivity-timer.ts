/**
 * Timers that expire after a time without activity. A timer is touched any number of times and computes what
 * is left when it is checked: a new timer for each chunk would cost more than the chunk.
 */
import type { Clock } from '../../lib/clock.ts';
import { TimeoutEntry, TimeoutQueue } from '../../lib/timeout-queue.ts';

export interface InactivityTimer {
  /** Starts the time anew. */
  touch(): void;
  /** Suspends the timer: the inactivity is our own (backpressure). */
  hold(): void;
  /** Starts the time anew after `hold`. */
  release(): void;
  stop(): void;
}

export class InactivityTimers {
  readonly #timeouts: TimeoutQueue;

  /** @param milliseconds of inactivity, for all timers */
  constructor(clock: Clock, milliseconds: number) {
    this.#timeouts = new TimeoutQueue(clock, milliseconds);
  }

  /** @param onExpired called once at most */
  start(onExpired: () => void): InactivityTimer {
    const timer = new Timer(this.#timeouts, onExpired);
    this.#timeouts.add(timer);
    return timer;
  }
}

class Timer extends TimeoutEntry implements InactivityTimer {
  readonly #timeouts: TimeoutQueue;
  readonly #onExpired: () => void;
  #lastActivity: number;
  #held = false;

  constructor(timeouts: TimeoutQueue, onExpired: () => void) {
    super();
    this.#timeouts = timeouts;
    this.#onExpired = onExpired;
    this.#lastActivity = timeouts.clock.now();
  }

  touch(): void {
    this.#lastActivity = this.#timeouts.clock.now();
  }

  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.touch();
  }

  stop(): void {
    this.unlink();
    if (this.#timeouts.empty) this.#timeouts.stop();
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
