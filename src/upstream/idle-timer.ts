/**
 * Notices that nothing has happened for a while. One timer of the clock serves any number of waits of the same length,
 * and each of these any number of touches: it looks when it fires and waits out what is left. Arming one for each call
 * would cost a call more than its own bookkeeping, and one for each chunk more than the chunk.
 */
import type { Clock, Timer } from '../lib/clock.ts';
import { Place } from '../lib/ring.ts';

export interface IdleTimer {
  /** Something happened: the wait begins anew. */
  touch(): void;
  /** The silence is our own doing (backpressure) and does not count until `release`. */
  hold(): void;
  release(): void;
  stop(): void;
}

export class IdleTimers {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  /** Stands before the first wait and behind the last. */
  readonly #waits = new Place();
  #timer: Timer | undefined;

  /** @param milliseconds of silence, the same for all */
  constructor(clock: Clock, milliseconds: number) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
  }

  /**
   * Starts at once.
   *
   * @param onIdle called once, after the silence
   */
  start(onIdle: () => void): IdleTimer {
    const wait = new Wait(this.#clock, this, onIdle);
    wait.joinBefore(this.#waits);
    // An earlier wait's timer fires before this one's could.
    this.#timer ??= this.#clock.after(this.#milliseconds, this.#look);
    return wait;
  }

  /** Called when a wait has left. */
  onLeft(): void {
    if (!this.#waits.alone) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const now = this.#clock.now();
    let least = this.#milliseconds;
    // A list of them first: whoever is called may leave, and may make others leave, who are not called then.
    for (const wait of [...this.#waits.others()]) {
      if (!(wait instanceof Wait) || wait.alone) continue;
      const left = wait.held ? this.#milliseconds : wait.last + this.#milliseconds - now;
      if (left > 0) least = Math.min(least, left);
      else wait.end();
    }
    if (!this.#waits.alone) this.#timer ??= this.#clock.after(least, this.#look);
  };
}

class Wait extends Place implements IdleTimer {
  readonly #clock: Clock;
  readonly #timers: IdleTimers;
  readonly #onIdle: () => void;
  last: number;
  held = false;

  constructor(clock: Clock, timers: IdleTimers, onIdle: () => void) {
    super();
    this.#clock = clock;
    this.#timers = timers;
    this.#onIdle = onIdle;
    this.last = clock.now();
  }

  touch(): void {
    this.last = this.#clock.now();
  }

  hold(): void {
    this.held = true;
  }

  release(): void {
    this.held = false;
    this.touch();
  }

  stop(): void {
    this.unlink();
    this.#timers.onLeft();
  }

  end(): void {
    this.stop();
    this.#onIdle();
  }
}
