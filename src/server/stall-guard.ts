/**
 * Gives up an answer whose client takes no byte of it: what is held for such a client is held for nobody. Silence of
 * our own is no standstill: a watch that has nothing to send waits as long as it likes, and any byte taken counts.
 */
import type { Clock, Timer } from '../lib/clock.ts';

export interface StallGuardOptions {
  readonly clock: Clock;
  /** Milliseconds without a byte taken. */
  readonly patience: number;
  /** Bytes that wait to be taken. */
  readonly unsent: () => number;
  /** Bytes taken so far; only its growth matters. */
  readonly sent: () => number;
  /** Called once. */
  readonly onStall: () => void;
}

export class StallGuard {
  readonly #options: StallGuardOptions;
  #timer: Timer | undefined;
  #sent = 0;

  constructor(options: StallGuardOptions) {
    this.#options = options;
  }

  /** To be told of every write; a timer runs only while something is unsent. */
  wrote(): void {
    if (this.#timer !== undefined || this.#options.unsent() === 0) return;
    this.#sent = this.#options.sent();
    this.#wait();
  }

  /** Until it is told of a write again. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #wait(): void {
    this.#timer = this.#options.clock.after(this.#options.patience, () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    const { unsent, sent, onStall } = this.#options;
    if (unsent() === 0) return;
    const now = sent();
    if (now === this.#sent) {
      onStall();
      return;
    }
    this.#sent = now;
    this.#wait();
  }
}
