/**
 * One timer for any number of equal timeouts. When it fires, each entry is checked, and it is armed again for
 * the next entry that may be due. A timer for each entry would cost a request more than the entry's own
 * bookkeeping.
 */
import type { Clock, Timer } from './clock.ts';
import { ListNode } from './linked-list.ts';

export abstract class TimeoutEntry extends ListNode {
  /**
   * Called each time the queue's timer fires. It may unlink itself and other entries.
   *
   * @param now milliseconds since the epoch
   * @returns milliseconds until its next check is due
   */
  abstract check(now: number): number;
}

export class TimeoutQueue {
  readonly clock: Clock;
  /** Each entry's time in milliseconds; with `Infinity` no timer runs. */
  readonly timeout: number;
  readonly #head = new ListNode();
  #timer: Timer | undefined;

  constructor(clock: Clock, timeout: number) {
    this.clock = clock;
    this.timeout = timeout;
  }

  /** Appends an entry whose timeout begins now. */
  add(entry: TimeoutEntry): void {
    entry.insertBefore(this.#head);
    // The timer of an earlier entry fires before this one's would.
    this.#timer ??= this.#arm(this.timeout);
  }

  /**
   * Puts an entry that was taken out back in front of all others.
   *
   * @param remaining milliseconds of its timeout
   */
  addFirst(entry: TimeoutEntry, remaining: number): void {
    entry.insertBefore(this.#head.next);
    this.stop();
    this.#timer = this.#arm(Math.max(0, Math.min(remaining, this.timeout)));
  }

  /** Cancels the timer. No entry is checked until another one is added. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Cancels the timer unless there are entries. */
  stopIfEmpty(): void {
    if (this.empty) this.stop();
  }

  /** The oldest entry. */
  get first(): TimeoutEntry | undefined {
    const { next } = this.#head;
    return next instanceof TimeoutEntry ? next : undefined;
  }

  /** The newest entry. */
  get last(): TimeoutEntry | undefined {
    const { previous } = this.#head;
    return previous instanceof TimeoutEntry ? previous : undefined;
  }

  get empty(): boolean {
    return !this.#head.linked;
  }

  readonly #check = (): void => {
    this.#timer = undefined;
    const now = this.clock.now();
    let next = this.timeout;
    // A copy: an entry's check may unlink any entry; unlinked ones are skipped.
    for (const entry of [...this.#head.others()])
      if (entry instanceof TimeoutEntry && entry.linked) next = Math.min(next, entry.check(now));
    if (!this.empty) this.#timer ??= this.#arm(next);
  };

  #arm(milliseconds: number): Timer | undefined {
    return milliseconds === Number.POSITIVE_INFINITY
      ? undefined
      : this.clock.after(milliseconds, this.#check);
  }
}
