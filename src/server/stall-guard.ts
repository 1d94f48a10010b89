/**
 * Gives up an answer whose client takes no byte of it: what is held for such a client is held for nobody. Silence of
 * our own is no standstill: a watch that has nothing to send waits as long as it likes, and any byte taken counts.
 * Nothing is looked at while nothing is unsent.
 */
import { TimeoutEntry, type TimeoutQueue } from '../lib/timeout-queue.ts';

/** Whose bytes are to be taken. */
export interface Guarded {
  /** Bytes that wait to be taken. */
  readonly unsent: number;
  /** Bytes taken so far; only its growth matters. */
  readonly sent: number;
  /** Called once. */
  onStall(): void;
}

export class StallGuard extends TimeoutEntry {
  readonly #queue: TimeoutQueue;
  readonly #guarded: Guarded;
  #sent = 0;
  #since = 0;

  /** @param queue of its connection; as long as an answer may stand still */
  constructor(queue: TimeoutQueue, guarded: Guarded) {
    super();
    this.#queue = queue;
    this.#guarded = guarded;
  }

  /** To be told of every write. */
  wrote(): void {
    if (this.linked || this.#guarded.unsent === 0) return;
    this.#sent = this.#guarded.sent;
    this.#since = this.#queue.clock.now();
    this.#queue.add(this);
  }

  /** Until it is told of a write again. */
  stop(): void {
    this.unlink();
  }

  check(now: number): number {
    const patience = this.#queue.timeout;
    const { unsent, sent } = this.#guarded;
    if (unsent === 0) {
      this.unlink();
      return patience;
    }
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
