/**
 * Those who wait for a permit of a semaphore, and their entries in its queue.
 */
import { TimeoutEntry, type TimeoutQueue } from './timeout-queue.ts';

/** Exactly one of the two is called, once; neither after `cancel`. */
export interface Waiter {
  /** The waiter has a permit from now on, and releases it. Must not throw. */
  onAcquired(): void;
  onRefused(error: Error): void;
}

export interface QueuedWaiter {
  /** Idempotent. */
  cancel(): void;
}

/** The semaphore, as an entry of its queue sees it. */
interface EntryOwner {
  /** The waiter waits no longer. */
  onLeft(bytes: number): void;
  onTimeout(entry: QueueEntry): void;
}

export class QueueEntry extends TimeoutEntry implements QueuedWaiter {
  readonly waiter: Waiter;
  readonly #queue: TimeoutQueue;
  readonly #bytes: number;
  readonly #owner: EntryOwner;
  readonly #deadline: number;
  #cancelled = false;

  constructor(queue: TimeoutQueue, waiter: Waiter, bytes: number, owner: EntryOwner) {
    super();
    this.waiter = waiter;
    this.#queue = queue;
    this.#bytes = bytes;
    this.#owner = owner;
    this.#deadline = queue.clock.now() + queue.timeout;
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.unlink();
    this.#owner.onLeft(this.#bytes);
  }

  refuse(error: Error): void {
    this.cancel();
    this.waiter.onRefused(error);
  }

  check(now: number): number {
    const remaining = this.#deadline - now;
    if (remaining > 0) return remaining;
    this.#owner.onTimeout(this);
    return this.#queue.timeout;
  }
}
