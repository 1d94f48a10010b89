/**
 * Notices that nothing has happened for a while. A wait is touched any number of times, and looks what is left of it
 * when its queue comes: arming a timer for each chunk would cost more than the chunk.
 */
import type { Clock } from '../lib/clock.ts';
import { TimeoutEntry, TimeoutQueue } from '../lib/timeout-queue.ts';

export interface IdleTimer {
  /** Something happened: the wait begins anew. */
  touch(): void;
  /** The silence is our own doing (backpressure) and does not count until `release`. */
  hold(): void;
  release(): void;
  stop(): void;
}

export class IdleTimers {
  readonly #queue: TimeoutQueue;

  /** @param milliseconds of silence, the same for all */
  constructor(clock: Clock, milliseconds: number) {
    this.#queue = new TimeoutQueue(clock, milliseconds);
  }

  /**
   * Starts at once.
   *
   * @param onIdle called once, after the silence
   */
  start(onIdle: () => void): IdleTimer {
    const wait = new IdleWait(this.#queue, onIdle);
    this.#queue.add(wait);
    return wait;
  }
}

class IdleWait extends TimeoutEntry implements IdleTimer {
  readonly #queue: TimeoutQueue;
  readonly #onIdle: () => void;
  #last: number;
  #held = false;

  constructor(queue: TimeoutQueue, onIdle: () => void) {
    super();
    this.#queue = queue;
    this.#onIdle = onIdle;
    this.#last = queue.clock.now();
  }

  touch(): void {
    this.#last = this.#queue.clock.now();
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
    if (this.#queue.empty) this.#queue.stop();
  }

  check(now: number): number {
    const { timeout: milliseconds } = this.#queue;
    const left = this.#held ? milliseconds : this.#last + milliseconds - now;
    if (left > 0) return left;
    this.stop();
    this.#onIdle();
    return milliseconds;
  }
}
