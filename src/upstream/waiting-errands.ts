/**
 * Errands for which there is no connection, in their order. Nobody waits for ever: connections to an API server that hangs
 * become free no faster than those before give up, and the more wait, the later the last would hear of it.
 */
import type { Clock } from '../lib/clock.ts';
import { Round, Wait } from '../lib/round.ts';
import type { Errand } from './errand.ts';

export class WaitingErrands {
  readonly #round: Round;
  readonly #onTooLong: (errand: Errand) => void;

  /**
   * @param milliseconds that each may wait
   * @param onTooLong given an errand that waits no more
   */
  constructor(clock: Clock, milliseconds: number, onTooLong: (errand: Errand) => void) {
    this.#round = new Round(clock, milliseconds);
    this.#onTooLong = onTooLong;
  }

  get empty(): boolean {
    return this.#round.empty;
  }

  /** Behind all others; who was taken and got no connection after all keeps its place and its limit. */
  add(errand: Errand): void {
    if (errand.wait !== undefined) {
      errand.wait.goOn();
      return;
    }
    const wait = new ErrandWait(this.#round, errand, this.#onTooLong);
    errand.wait = wait;
    this.#round.join(wait);
  }

  /** Who has waited longest, and waits no more. */
  take(): Errand | undefined {
    const first = this.#round.first;
    if (!(first instanceof ErrandWait)) return undefined;
    first.stop();
    return first.errand;
  }
}

class ErrandWait extends Wait {
  readonly errand: Errand;
  readonly #round: Round;
  readonly #onTooLong: (errand: Errand) => void;
  readonly #until: number;

  constructor(round: Round, errand: Errand, onTooLong: (errand: Errand) => void) {
    super();
    this.errand = errand;
    this.#round = round;
    this.#onTooLong = onTooLong;
    this.#until = round.clock.now() + round.milliseconds;
  }

  stop(): void {
    this.unlink();
    if (this.#round.empty) this.#round.stop();
  }

  goOn(): void {
    this.#round.rejoin(this, this.#until - this.#round.clock.now());
  }

  look(now: number): number {
    const left = this.#until - now;
    if (left > 0) return left;
    this.stop();
    this.#onTooLong(this.errand);
    return this.#round.milliseconds;
  }
}
