/**
 * Both permits of a write that the admission webhook reviews: one of its URL, until the API server responds,
 * and one of its account's connections. It waits for one at a time and holds none meanwhile: a tenant whose
 * connections are all in use keeps no other tenant's writes waiting.
 */
import type { Semaphore } from '../lib/semaphore.ts';
import type { QueuedWaiter, Waiter } from '../lib/waiter.ts';

/** What a call waits for before it is sent. */
export interface Limiter
  extends Pick<Semaphore, 'tryAcquire' | 'enqueue' | 'queueFull' | 'release' | 'releaseDelayed'> {
  /** The response's head has arrived; its body may take long, if the client reads it slowly. */
  onResponse?(): void;
}

export class WritePermits implements Limiter {
  readonly #review: Semaphore;
  readonly #connection: Semaphore;
  /** The one that could not be had last. */
  #lacking: Semaphore;
  #isReviewed = false;

  constructor(review: Semaphore, connection: Semaphore) {
    this.#review = review;
    this.#connection = connection;
    this.#lacking = review;
  }

  tryAcquire(): boolean {
    if (!this.#review.tryAcquire()) return this.#lacks(this.#review);
    return this.#completes(this.#review);
  }

  enqueue(waiter: Waiter, bytes: number): QueuedWaiter | undefined {
    let entry: QueuedWaiter | undefined;
    const wait = (): QueuedWaiter | undefined => {
      const awaited = this.#lacking;
      entry = awaited.enqueue(
        {
          onAcquired: () => {
            if (this.#completes(awaited)) waiter.onAcquired();
            else if (wait() === undefined) waiter.onRefused(this.queueFull());
          },
          onRefused: (error) => waiter.onRefused(error),
        },
        bytes,
      );
      return entry;
    };
    return wait() && { cancel: () => entry?.cancel() };
  }

  queueFull(): Error {
    return this.#lacking.queueFull();
  }

  onResponse(): void {
    if (!this.#isReviewed) return;
    this.#isReviewed = false;
    this.#review.release();
  }

  release(): void {
    this.onResponse();
    this.#connection.release();
  }

  releaseDelayed(): void {
    if (this.#isReviewed) this.#review.releaseDelayed();
    this.#isReviewed = false;
    this.#connection.releaseDelayed();
  }

  /** @returns whether the other permit is free too; if not, the first is given back */
  #completes(held: Semaphore): boolean {
    const other = held === this.#review ? this.#connection : this.#review;
    if (!other.tryAcquire()) {
      held.release();
      return this.#lacks(other);
    }
    this.#isReviewed = true;
    return true;
  }

  #lacks(permits: Semaphore): false {
    this.#lacking = permits;
    return false;
  }
}
