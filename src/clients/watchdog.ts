/**
 * Ends a watch from which nothing arrives: a connection can be dead without a sign of it.
 */
import { afterPendingIO, type Clock, type Timer } from '../lib/clock.ts';

export interface Deadline {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** With which the watch ends then. */
  readonly error: Error;
}

export class Watchdog {
  /** When something arrived last, or when the watchdog was made; in milliseconds since the epoch. */
  #touchedAt: number;
  readonly #clock: Clock;
  readonly #deadline: (touchedAt: number) => Deadline;
  readonly #aborted = new AbortController();
  #timer: Timer | undefined;

  /** @param deadline called again when it has passed: it moves with what arrives */
  constructor(clock: Clock, deadline: (touchedAt: number) => Deadline) {
    this.#clock = clock;
    this.#deadline = deadline;
    this.#touchedAt = clock.now();
    this.#wait();
  }

  /** Aborted when the watch is to end, with the error as the reason. */
  get signal(): AbortSignal {
    return this.#aborted.signal;
  }

  touch(): void {
    this.#touchedAt = this.#clock.now();
  }

  end(error: Error): void {
    this.#aborted.abort(error);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #wait(): void {
    const { at } = this.#deadline(this.#touchedAt);
    this.#timer = afterPendingIO(this.#clock, Math.max(0, at - this.#clock.now()), () => this.#check());
  }

  #check(): void {
    const { at, error } = this.#deadline(this.#touchedAt);
    if (this.#clock.now() >= at) this.end(error);
    else this.#wait();
  }
}
