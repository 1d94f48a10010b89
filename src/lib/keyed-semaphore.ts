/**
 * Bounds what runs at the same time: for each key (a tenant, a client's address) and for all keys together.
 * Each key is a `Semaphore` with its own queue; it enlists itself here while it has waiters and permits of
 * its own, and `serve` grants available permits to the enlisted keys in turn. Compare API Priority and
 * Fairness: https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
 */
import { ListNode } from './linked-list.ts';
import { type QueueBounds, Semaphore, type SemaphoreOptions, type SharedPermits } from './semaphore.ts';

/** From so many keys on, unused ones are forgotten. */
const MANY_KEYS = 10_000;

export class KeyedSemaphore implements SharedPermits {
  readonly options: SemaphoreOptions;
  readonly queues: Queues;
  readonly #keys = new Map<string, Semaphore>();
  /** Keys with waiters and available permits of their own, in the order in which they are served. */
  readonly #enlisted = new ListNode();
  #inUse = 0;
  #serving = false;
  #sweepAt = MANY_KEYS;

  /** @param queues that other keyed semaphores have too: then `options.queue` bounds them all */
  constructor(options: SemaphoreOptions, queues: Queues = new Queues(options.queue)) {
    this.options = options;
    this.queues = queues;
  }

  /** @returns the key's semaphore, to be used at once: an unused one may be forgotten at the next call */
  of(key: string): Semaphore {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    if (this.#keys.size >= this.#sweepAt) this.#sweep();
    const created = new Semaphore(this, key);
    this.#keys.set(key, created);
    return created;
  }

  /** The number of known keys. */
  get size(): number {
    return this.#keys.size;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get queued(): QueueBounds {
    return this.queues.queued;
  }

  get available(): boolean {
    return this.#inUse < this.options.permits;
  }

  take(): void {
    this.#inUse += 1;
  }

  giveBack(): void {
    this.#inUse -= 1;
    this.serve();
  }

  /** A waiter that fails at once releases from within `onAcquired`: hence a loop and no recursion. */
  serve(): void {
    if (this.#serving) return;
    this.#serving = true;
    try {
      while (this.available) {
        const { next } = this.#enlisted;
        if (!(next instanceof Semaphore)) break;
        next.unlink();
        next.grant();
      }
    } finally {
      this.#serving = false;
    }
  }

  /** Refuses all waiters. */
  refuseAll(error: Error): void {
    this.queues.refuseAll(error);
  }

  enlist(key: Semaphore): void {
    if (!key.linked) key.insertBefore(this.#enlisted);
  }

  #sweep(): void {
    for (const [name, key] of this.#keys) if (key.unused) this.#keys.delete(name);
    // If nearly all are in use, the next sweep comes at twice as many, so that sweeps stay rare.
    this.#sweepAt = Math.max(MANY_KEYS, this.#keys.size * 2);
  }
}

/** The queues of all keys of one or more keyed semaphores, which share a bound. */
export class Queues {
  readonly #max: QueueBounds;
  readonly #queued = new Set<Semaphore>();
  #requests = 0;
  #bytes = 0;

  constructor(max: QueueBounds) {
    this.#max = max;
  }

  get queued(): QueueBounds {
    return { requests: this.#requests, bytes: this.#bytes };
  }

  refuseAll(error: Error): void {
    for (const key of this.#queued) key.refuseAll(error);
  }

  /**
   * If the queues are full, the newest waiters of the largest queue are refused for a key with a smaller one
   * (RFC 8290 §4.1).
   */
  makeRoom(key: Semaphore, bytes: number): boolean {
    return this.#shrink(key, 'requests', 1) && this.#shrink(key, 'bytes', bytes);
  }

  onQueueChange(key: Semaphore, requests: number, bytes: number): void {
    this.#requests += requests;
    this.#bytes += bytes;
    if (key.queued.requests === 0) this.#queued.delete(key);
    else this.#queued.add(key);
  }

  #shrink(key: Semaphore, what: keyof QueueBounds, more: number): boolean {
    while (this.queued[what] + more > this.#max[what]) {
      let largest = key;
      for (const other of this.#queued) if (other.queued[what] > largest.queued[what]) largest = other;
      if (largest.queued[what] <= key.queued[what] + more) return false;
      largest.refuseNewest();
    }
    return true;
  }
}
