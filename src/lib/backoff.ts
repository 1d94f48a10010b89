/**
 * Exponential backoff with jitter: the time to wait after each failure in a row.
 */
import type { Random } from './random.ts';

export interface BackoffOptions {
  /** Milliseconds after the first failure. */
  readonly first: number;
  /** Milliseconds at most. */
  readonly longest: number;
  readonly random: Random;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #next: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#next = options.first;
  }

  /** Milliseconds: between half and all of the span, which doubles each time. */
  next(): number {
    const { longest, random } = this.#options;
    const span = this.#next;
    this.#next = Math.min(longest, span * 2);
    return span * (0.5 + random.fraction() / 2);
  }

  /** Called after a success. */
  reset(): void {
    this.#next = this.#options.first;
  }
}
