/**
 * Joins requests for a higher revision: a resource in which nothing changes stays at its last revision until
 * it is asked, but not more often than twice a second.
 */
import type { Clock, Timer } from '../lib/clock.ts';

/** Milliseconds: the event that brings the revision is often on its way. */
const DELAY = 50;
const INTERVAL = 500;

export class CatchUp {
  readonly #clock: Clock;
  readonly #prove: (revision: number) => void;
  #wanted = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #isStopped = false;

  /** @param prove called with the highest revision that was requested since its last call */
  constructor(clock: Clock, prove: (revision: number) => void) {
    this.#clock = clock;
    this.#prove = prove;
  }

  request(revision: number): void {
    this.#wanted = Math.max(this.#wanted, revision);
    if (this.#timer !== undefined || this.#isStopped) return;
    const delay = Math.max(DELAY, this.#lastAt + INTERVAL - this.#clock.now());
    this.#timer = this.#clock.after(delay, () => {
      const wanted = this.#wanted;
      this.#timer = undefined;
      this.#wanted = 0;
      this.#lastAt = this.#clock.now();
      this.#prove(wanted);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }
}
