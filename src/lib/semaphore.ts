/**
 * The permits and the queue of one key of a `KeyedSemaphore`. Waiters are served in the order in which they
 * came; a waiter can be cancelled, and is refused after a timeout.
 */
import type { Clock, Timer } from './clock.ts';
import { ListNode } from './linked-list.ts';
import { TimeoutQueue } from './timeout-queue.ts';
import { type Rate, TokenBucket } from './token-bucket.ts';
import { type QueuedWaiter, QueueEntry, type Waiter } from './waiter.ts';

export interface QueueBounds {
  readonly requests: number;
  /** That the waiting requests hold in memory. */
  readonly bytes: number;
}

export const UNBOUNDED: QueueBounds = {
  requests: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
};

export interface SemaphoreOptions {
  readonly clock: Clock;
  /** Of all keys together. */
  readonly permits: number;
  readonly permitsPerKey: number;
  /** Of all keys together. */
  readonly queue: QueueBounds;
  readonly queuePerKey: QueueBounds;
  /** Milliseconds; without it a waiter waits until it is served, cancelled or refused. */
  readonly queueTimeout?: number;
  /** For `releaseDelayed`. Without it no release is delayed. */
  readonly delayedRelease?: Rate;
  /** @returns what a waiter is refused with, if a queue is full or the timeout is over */
  readonly refusal: (reason: 'full' | 'timeout', key: string) => Error;
}

/** The keyed semaphore, as the semaphore of one key sees it. */
export interface SharedPermits {
  readonly options: SemaphoreOptions;
  readonly available: boolean;
  take(): void;
  giveBack(): void;
  /** Grants the available permits to waiters. */
  serve(): void;
  /** The key has waiters and permits of its own: it is served in turn with the other keys. */
  enlist(key: Semaphore): void;
  readonly queues: {
    /**
     * Whether all queues together have room for one more waiter; waiters of larger queues may be refused for
     * it.
     */
    makeRoom(key: Semaphore, bytes: number): boolean;
    /** The key's queue has changed by these numbers. */
    onQueueChange(key: Semaphore, requests: number, bytes: number): void;
  };
}

/** Of a part of a key's permits. */
interface Part {
  /** Its permits are the key's too. */
  readonly whole: Semaphore;
  readonly permits: number;
}

export class Semaphore extends ListNode {
  readonly #shared: SharedPermits;
  readonly #key: string;
  readonly #permits: number;
  readonly #whole: Semaphore | undefined;
  #part: Semaphore | undefined;
  readonly #queue: TimeoutQueue;
  readonly #releases: TokenBucket | undefined;
  #inUse = 0;
  /** Of those in use: permits whose release is delayed. */
  #delayed = 0;
  #timer: Timer | undefined;
  #queuedRequests = 0;
  #queuedBytes = 0;

  constructor(shared: SharedPermits, key: string, part?: Part) {
    super();
    this.#shared = shared;
    this.#key = key;
    this.#permits = part?.permits ?? shared.options.permitsPerKey;
    this.#whole = part?.whole;
    const { clock, queueTimeout = Number.POSITIVE_INFINITY, delayedRelease } = shared.options;
    this.#queue = new TimeoutQueue(clock, queueTimeout);
    this.#releases = delayedRelease && new TokenBucket(delayedRelease, clock.now());
  }

  get inUse(): number {
    return this.#inUse;
  }

  get queued(): QueueBounds {
    return { requests: this.#queuedRequests, bytes: this.#queuedBytes };
  }

  /** Whether a new semaphore would behave in the same way. */
  get unused(): boolean {
    const isFull = this.#releases?.isFull(this.#shared.options.clock.now()) ?? true;
    return this.#inUse === 0 && this.#queue.empty && isFull && (this.#part?.unused ?? true);
  }

  /**
   * The same semaphore for some of the key's callers: it has its own queue, and its permits are taken from
   * the key's.
   *
   * @param permits at most, of the key's; of the first call
   */
  part(permits: number): Semaphore {
    this.#part ??= new Semaphore(this.#shared, this.#key, { whole: this, permits });
    return this.#part;
  }

  /** @returns whether the caller has a permit, which it releases; it has none before those who wait */
  tryAcquire(): boolean {
    if (!this.#available || !this.#queue.empty || !this.#shared.available) return false;
    this.#take();
    return true;
  }

  /**
   * @param bytes that the waiter holds in memory
   * @returns undefined if the queue is full; the waiter is not called then, and `queueFull` has the error
   */
  enqueue(waiter: Waiter, bytes: number): QueuedWaiter | undefined {
    const { queuePerKey } = this.#shared.options;
    if (this.#queuedRequests + 1 > queuePerKey.requests) return undefined;
    if (this.#queuedBytes + bytes > queuePerKey.bytes) return undefined;
    if (!this.#shared.queues.makeRoom(this, bytes)) return undefined;
    const entry = new QueueEntry(this.#queue, waiter, bytes, this);
    this.#queue.add(entry);
    this.#changeQueue(1, bytes);
    this.#enlist();
    return entry;
  }

  /** @returns the error for a caller whom `enqueue` did not take */
  queueFull(): Error {
    return this.#shared.options.refusal('full', this.#key);
  }

  /**
   * @param bytes that the caller holds in memory while it waits
   * @param signal ends the wait
   * @returns whether the caller has a permit, which it releases; false if the signal was aborted
   * @throws the `refusal` if the queue is full or the timeout is over
   */
  async acquire(bytes: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.tryAcquire()) return true;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const queued = this.enqueue({ onAcquired: () => resolve(true), onRefused: reject }, bytes);
    if (queued === undefined) throw this.queueFull();
    const onAbort = (): void => {
      queued.cancel();
      resolve(false);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  release(): void {
    this.#giveBack();
    this.#shared.giveBack();
  }

  /**
   * Releases a permit that is expensive to use again, such as one of a connection that was closed. Other keys
   * may use it at once; this key only if its rate of such releases allows it, else later.
   */
  releaseDelayed(): void {
    const { clock } = this.#shared.options;
    if (this.#releases === undefined || this.#releases.tryTake(clock.now())) {
      this.release();
      return;
    }
    this.#delayed += 1;
    this.#scheduleRelease(this.#releases);
    this.#shared.giveBack();
  }

  /** Gives a permit to the first waiter. For the keyed semaphore, which has an available one. */
  grant(): void {
    const { first } = this.#queue;
    if (!(first instanceof QueueEntry) || !this.#available) return;
    first.cancel();
    this.#take();
    this.#enlist();
    first.waiter.onAcquired();
  }

  /** For the keyed semaphore, if a waiter of another key needs the room. */
  refuseNewest(): void {
    const { last } = this.#queue;
    if (last instanceof QueueEntry) last.refuse(this.queueFull());
  }

  refuseAll(error: Error): void {
    for (let { first } = this.#queue; first instanceof QueueEntry; { first } = this.#queue)
      first.refuse(error);
  }

  /** For an entry of the queue: its waiter waits no longer. */
  onLeft(bytes: number): void {
    this.#changeQueue(-1, -bytes);
    if (!this.#queue.empty) return;
    this.#queue.stop();
    this.unlink();
  }

  /** For an entry of the queue. */
  onTimeout(entry: QueueEntry): void {
    entry.refuse(this.#shared.options.refusal('timeout', this.#key));
  }

  get #available(): boolean {
    return this.#inUse < this.#permits && (this.#whole === undefined || this.#whole.#available);
  }

  #take(): void {
    this.#inUse += 1;
    if (this.#whole !== undefined) this.#whole.#inUse += 1;
    this.#shared.take();
  }

  /** But for the permit of all keys together. */
  #giveBack(): void {
    this.#inUse -= 1;
    if (this.#whole !== undefined) {
      this.#whole.#inUse -= 1;
      this.#whole.#enlist();
    }
    this.#enlist();
    if (this.#part !== undefined) this.#part.#enlist();
  }

  #enlist(): void {
    if (!this.#queue.empty && this.#available) this.#shared.enlist(this);
  }

  #changeQueue(requests: number, bytes: number): void {
    this.#queuedRequests += requests;
    this.#queuedBytes += bytes;
    this.#shared.queues.onQueueChange(this, requests, bytes);
  }

  /** Of the delayed permits, one after another. */
  #scheduleRelease(releases: TokenBucket): void {
    const { clock } = this.#shared.options;
    this.#timer ??= clock.after(releases.interval, () => {
      this.#timer = undefined;
      // The time was for this permit: it adds no token.
      releases.restart(clock.now());
      this.#delayed -= 1;
      if (this.#delayed > 0) this.#scheduleRelease(releases);
      this.#giveBack();
      this.#shared.serve();
    });
  }
}
