/**
 * One timer of the clock for any number of waits of the same length: it goes round all of them when it fires, and fires
 * again when the next may be over. A timer for each wait would cost a request more than the wait's own bookkeeping.
 */
import type { Clock, Timer } from './clock.ts';
import { Place } from './ring.ts';

export abstract class Wait extends Place {
  /**
   * Called on each round. It may leave, and make others leave.
   *
   * @param now milliseconds since the epoch
   * @returns milliseconds until it has to be looked at again
   */
  abstract look(now: number): number;
}

export class Round {
  readonly clock: Clock;
  /** Of each wait. */
  readonly milliseconds: number;
  /** Stands before the first wait and behind the last. */
  readonly #waits = new Place();
  #timer: Timer | undefined;

  constructor(clock: Clock, milliseconds: number) {
    this.clock = clock;
    this.milliseconds = milliseconds;
  }

  /** It has just begun to wait. */
  join(wait: Wait): void {
    wait.joinBefore(this.#waits);
    // An earlier wait's timer fires before this one's could.
    this.#timer ??= this.clock.after(this.milliseconds, this.#look);
  }

  /**
   * It waits on, before all others, as if it had never left.
   *
   * @param left milliseconds until it has to be looked at
   */
  rejoin(wait: Wait, left: number): void {
    wait.joinBefore(this.#waits.next);
    this.stop();
    this.#timer = this.clock.after(Math.max(0, Math.min(left, this.milliseconds)), this.#look);
  }

  /** Nobody is looked at any more, but for those who join from now on. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Who has waited longest. */
  get first(): Wait | undefined {
    const { next } = this.#waits;
    return next instanceof Wait ? next : undefined;
  }

  /** Who has waited for the shortest time. */
  get last(): Wait | undefined {
    const { previous } = this.#waits;
    return previous instanceof Wait ? previous : undefined;
  }

  /** Whether nobody waits. */
  get empty(): boolean {
    return this.#waits.alone;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const now = this.clock.now();
    let next = this.milliseconds;
    // A list of them first: whoever is looked at may leave, and may make others leave, who are not looked at then.
    for (const wait of [...this.#waits.others()])
      if (wait instanceof Wait && !wait.alone) next = Math.min(next, wait.look(now));
    if (!this.empty) this.#timer ??= this.clock.after(next, this.#look);
  };
}
