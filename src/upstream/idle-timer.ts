/**
 * Notices that nothing has happened for a while. A wait is touched any number of times, and looks what is left of it
 * when its round comes: arming a timer for each chunk would cost more than the chunk.
 */
import type { Clock } from '../lib/clock.ts';
import { Round, Wait } from '../lib/round.ts';

export interface IdleTimer {
  /** Something happened: the wait begins anew. */
  touch(): void;
  /** The silence is our own doing (backpressure) and does not count until `release`. */
  hold(): void;
  release(): void;
  stop(): void;
}

export class IdleTimers {
  readonly #round: Round;

  /** @param milliseconds of silence, the same for all */
  constructor(clock: Clock, milliseconds: number) {
    this.#round = new Round(clock, milliseconds);
  }

  /**
   * Starts at once.
   *
   * @param onIdle called once, after the silence
   */
  start(onIdle: () => void): IdleTimer {
    const wait = new IdleWait(this.#round, onIdle);
    this.#round.join(wait);
    return wait;
  }
}

class IdleWait extends Wait implements IdleTimer {
  readonly #round: Round;
  readonly #onIdle: () => void;
  #last: number;
  #held = false;

  constructor(round: Round, onIdle: () => void) {
    super();
    this.#round = round;
    this.#onIdle = onIdle;
    this.#last = round.clock.now();
  }

  touch(): void {
    this.#last = this.#round.clock.now();
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
    if (this.#round.empty) this.#round.stop();
  }

  look(now: number): number {
    const { milliseconds } = this.#round;
    const left = this.#held ? milliseconds : this.#last + milliseconds - now;
    if (left > 0) return left;
    this.stop();
    this.#onIdle();
    return milliseconds;
  }
}
