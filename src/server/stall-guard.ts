/**
 * Gives up an answer whose client takes no byte of it: what is held for such a client is held for nobody. Silence of
 * our own is no standstill: a watch that has nothing to send waits as long as it likes, and any byte taken counts.
 * One timer serves all answers of a connection, and runs only while something may be unsent: one for each answer would
 * cost more than the rest of its bookkeeping.
 */
import type { Clock, Timer } from '../lib/clock.ts';
import { Place } from '../lib/ring.ts';

/** Whose bytes are to be taken. */
export interface Guarded {
  /** Bytes that wait to be taken. */
  readonly unsent: number;
  /** Bytes taken so far; only its growth matters. */
  readonly sent: number;
  /** Called once. */
  onStall(): void;
}

/** Those of one connection. */
export class StallGuards {
  readonly clock: Clock;
  readonly patience: number;
  readonly #watching = new Place();
  #timer: Timer | undefined;

  /** @param patience milliseconds without a byte taken */
  constructor(clock: Clock, patience: number) {
    this.clock = clock;
    this.patience = patience;
  }

  watch(guard: StallGuard): void {
    guard.joinBefore(this.#watching);
    this.#timer ??= this.clock.after(this.patience, this.#look);
  }

  /** The connection has ended. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    let next = this.patience;
    // A list of them first: giving up one may end others.
    for (const guard of [...this.#watching.others()])
      if (guard instanceof StallGuard && !guard.alone) next = Math.min(next, guard.look());
    if (!this.#watching.alone) this.#timer ??= this.clock.after(next, this.#look);
  };
}

export class StallGuard extends Place {
  readonly #guards: StallGuards;
  readonly #guarded: Guarded;
  #sent = 0;
  #since = 0;

  constructor(guards: StallGuards, guarded: Guarded) {
    super();
    this.#guards = guards;
    this.#guarded = guarded;
  }

  /** To be told of every write. */
  wrote(): void {
    if (!this.alone || this.#guarded.unsent === 0) return;
    this.#sent = this.#guarded.sent;
    this.#since = this.#guards.clock.now();
    this.#guards.watch(this);
  }

  /** Until it is told of a write again. */
  stop(): void {
    this.unlink();
  }

  /** @returns milliseconds until the next look */
  look(): number {
    const { clock, patience } = this.#guards;
    const { unsent, sent } = this.#guarded;
    if (unsent === 0) {
      this.unlink();
      return patience;
    }
    const now = clock.now();
    if (sent !== this.#sent) {
      this.#sent = sent;
      this.#since = now;
      return patience;
    }
    const left = this.#since + patience - now;
    if (left > 0) return left;
    this.unlink();
    this.#guarded.onStall();
    return patience;
  }
}
