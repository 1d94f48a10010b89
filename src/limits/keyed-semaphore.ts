/**
 * Bounds what runs at the same time: for each key (a tenant, a client's address) and for all keys together.
 * Each key has its own queue; permits go to the keys that wait in turn, and to a key's waiters in order of
 * arrival. Compare API Priority and Fairness:
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
 */
import type { Clock } from '../lib/clock.ts';
import { ListNode } from '../lib/linked-list.ts';
import { TimeoutEntry, TimeoutQueue } from '../lib/timeout-queue.ts';

export interface SemaphoreOptions {
  readonly clock: Clock;
  /** Permits of all keys together. */
  readonly permits: number;
  readonly permitsPerKey: number;
  /** The sum of the sizes of all waiters. */
  readonly queue: number;
  readonly queuePerKey: number;
  /** Milliseconds; without it a waiter waits until it is served, cancelled or refused. */
  readonly queueTimeout?: number;
  /** @returns what a waiter is refused with */
  readonly refusal: (reason: 'full' | 'timeout', key: string) => Error;
}

/** An idle key is forgotten if more are known than this. */
const MANY_KEYS = 10_000;

export class KeyedSemaphore {
  readonly #options: SemaphoreOptions;
  readonly #all: AllKeys;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#all = new AllKeys(options);
  }

  /**
   * @param permits instead of `permitsPerKey`
   * @returns the key's semaphore, to be used at once: an idle one may be forgotten
   */
  of(key: string, permits = this.#options.permitsPerKey): Semaphore {
    const { keys } = this.#all;
    let semaphore = keys.get(key);
    if (semaphore === undefined) {
      semaphore = new Semaphore(this.#all, key, permits);
      keys.set(key, semaphore);
    }
    return semaphore;
  }

  /** The number of known keys. */
  get size(): number {
    return this.#all.keys.size;
  }

  get inUse(): number {
    return this.#all.inUse;
  }

  /** The sum of the sizes of all waiters. */
  get queued(): number {
    return this.#all.queued;
  }

  refuseAll(error: Error): void {
    for (const key of this.#all.waiting) key.refuseAll(error);
  }
}

/** What the semaphores of one `KeyedSemaphore` share. */
class AllKeys {
  readonly options: SemaphoreOptions;
  readonly keys = new Map<string, Semaphore>();
  /** The keys with waiters. */
  readonly waiting = new Set<Semaphore>();
  /** Head of the list of keys with waiters and permits of their own, in the order of their turns. */
  readonly turns = new ListNode();
  inUse = 0;
  queued = 0;

  constructor(options: SemaphoreOptions) {
    this.options = options;
  }

  get available(): boolean {
    return this.inUse < this.options.permits;
  }

  serve(): void {
    while (this.available) {
      const { next } = this.turns;
      if (!(next instanceof Semaphore)) return;
      next.unlink();
      next.grant();
    }
  }

  /**
   * If the queues are full, the newest waiters of the largest one are refused for a key with a smaller one
   * (RFC 8290 §4.1).
   */
  makeRoom(key: Semaphore, size: number): boolean {
    while (this.queued + size > this.options.queue) {
      let largest = key;
      for (const other of this.waiting) if (other.queued > largest.queued) largest = other;
      if (largest.queued <= key.queued + size) return false;
      largest.refuseNewest();
    }
    return true;
  }
}

/** The permits and the queue of one key. */
export class Semaphore extends ListNode {
  readonly #all: AllKeys;
  readonly #key: string;
  readonly #permits: number;
  readonly #queue: TimeoutQueue;
  #inUse = 0;
  #queued = 0;

  constructor(all: AllKeys, key: string, permits: number) {
    super();
    this.#all = all;
    this.#key = key;
    this.#permits = permits;
    const { clock, queueTimeout = Number.POSITIVE_INFINITY } = all.options;
    this.#queue = new TimeoutQueue(clock, queueTimeout);
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** The sum of the sizes of its waiters. */
  get queued(): number {
    return this.#queued;
  }

  /** @returns whether the caller has a permit, which it releases; it has none before those who wait */
  tryAcquire(): boolean {
    if (this.#inUse >= this.#permits || !this.#queue.empty || !this.#all.available) return false;
    this.#take();
    return true;
  }

  /**
   * @param signal ends the wait; a permit that was granted before is the caller's all the same
   * @returns whether the caller has a permit, which it releases; false if the signal was aborted before
   * @throws the `refusal` if the queue is full or the timeout is over
   */
  async acquire(signal?: AbortSignal, size = 1): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.tryAcquire()) return true;
    const waiter = this.#enqueue(size);
    const onAbort = (): void => waiter.settle(false);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await waiter.result;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  release(): void {
    this.#inUse -= 1;
    this.#all.inUse -= 1;
    this.#takeTurn();
    this.#all.serve();
    this.#forgetIfIdle();
  }

  /** Gives a permit to the first waiter; called if one of all keys together is available. */
  grant(): void {
    const { first } = this.#queue;
    if (!(first instanceof Waiter)) return;
    this.#take();
    first.settle(true);
    this.#takeTurn();
  }

  refuseNewest(): void {
    const { last } = this.#queue;
    if (last instanceof Waiter) last.refuse(this.#refusal('full'));
  }

  refuseAll(error: Error): void {
    for (let { first } = this.#queue; first instanceof Waiter; { first } = this.#queue) first.refuse(error);
  }

  #enqueue(size: number): Waiter {
    const { queuePerKey, clock } = this.#all.options;
    if (this.#queued + size > queuePerKey || !this.#all.makeRoom(this, size)) {
      this.#forgetIfIdle();
      throw this.#refusal('full');
    }
    const waiter = new Waiter(clock.now() + this.#queue.timeout, {
      onLeft: () => this.#left(size),
      onTimeout: () => this.#refusal('timeout'),
    });
    this.#queue.add(waiter);
    this.#queued += size;
    this.#all.queued += size;
    this.#all.waiting.add(this);
    this.#takeTurn();
    return waiter;
  }

  #left(size: number): void {
    this.#queued -= size;
    this.#all.queued -= size;
    if (!this.#queue.empty) return;
    this.#queue.stop();
    this.unlink();
    this.#all.waiting.delete(this);
    this.#forgetIfIdle();
  }

  #take(): void {
    this.#inUse += 1;
    this.#all.inUse += 1;
  }

  #takeTurn(): void {
    if (!this.linked && !this.#queue.empty && this.#inUse < this.#permits) this.insertBefore(this.#all.turns);
  }

  #forgetIfIdle(): void {
    const { keys } = this.#all;
    if (keys.size > MANY_KEYS && this.#inUse === 0 && this.#queue.empty) keys.delete(this.#key);
  }

  #refusal(reason: 'full' | 'timeout'): Error {
    return this.#all.options.refusal(reason, this.#key);
  }
}

class Waiter extends TimeoutEntry {
  readonly #deadline: number;
  readonly #owner: { onLeft(): void; onTimeout(): Error };
  readonly #outcome = Promise.withResolvers<boolean>();

  constructor(deadline: number, owner: { onLeft(): void; onTimeout(): Error }) {
    super();
    this.#deadline = deadline;
    this.#owner = owner;
  }

  /** Whether it has a permit. */
  get result(): Promise<boolean> {
    return this.#outcome.promise;
  }

  settle(granted: boolean): void {
    if (!this.linked) return;
    this.unlink();
    this.#owner.onLeft();
    this.#outcome.resolve(granted);
  }

  refuse(error: Error): void {
    this.#outcome.reject(error);
    this.settle(false);
  }

  check(now: number): number {
    const remaining = this.#deadline - now;
    if (remaining > 0) return remaining;
    this.refuse(this.#owner.onTimeout());
    return Number.POSITIVE_INFINITY;
  }
}
