/**
 * Errands for which there is no connection, in their order. Nobody waits for ever: connections to an API server that hangs
 * become free no faster than those before give up, and the more wait, the later the last would hear of it.
 */
import type { Clock } from '../lib/clock.ts';
import { TimeoutEntry, TimeoutQueue } from '../lib/timeout-queue.ts';
import type { Errand } from './errand.ts';

export class WaitingErrands {
  readonly #queue: TimeoutQueue;
  readonly #onTooLong: (errand: Errand) => void;

  /**
   * @param milliseconds that each may wait
   * @param onTooLong given an errand that waits no more
   */
  constructor(clock: Clock, milliseconds: number, onTooLong: (errand: Errand) => void) {
    this.#queue = new TimeoutQueue(clock, milliseconds);
    this.#onTooLong = onTooLong;
  }

  get empty(): boolean {
    return this.#queue.empty;
  }

  /** Behind all others; who was taken and got no connection after all keeps its place and its limit. */
  add(errand: Errand): void {
    if (errand.wait !== undefined) {
      errand.wait.goOn();
      return;
    }
    const wait = new ErrandWait(this.#queue, errand, this.#onTooLong);
    errand.wait = wait;
    this.#queue.add(wait);
  }

  /** Who has waited longest, and waits no more. */
  take(): Errand | undefined {
    const first = this.#queue.first;
    if (!(first instanceof ErrandWait)) return undefined;
    first.stop();
    return first.errand;
  }
}

class ErrandWait extends TimeoutEntry {
  readonly errand: Errand;
  readonly #queue: TimeoutQueue;
  readonly #onTooLong: (errand: Errand) => void;
  readonly #until: number;

  constructor(queue: TimeoutQueue, errand: Errand, onTooLong: (errand: Errand) => void) {
    super();
    this.errand = errand;
    this.#queue = queue;
    this.#onTooLong = onTooLong;
    this.#until = queue.clock.now() + queue.timeout;
  }

  stop(): void {
    this.unlink();
    if (this.#queue.empty) this.#queue.stop();
  }

  goOn(): void {
    this.#queue.addFirst(this, this.#until - this.#queue.clock.now());
  }

  check(now: number): number {
    const left = this.#until - now;
    if (left > 0) return left;
    this.stop();
    this.#onTooLong(this.errand);
    return this.#queue.timeout;
  }
}
