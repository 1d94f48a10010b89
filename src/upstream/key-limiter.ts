/**
 * The slots and the queue of one key of a limiter.
 */
import type { StatusError } from '../errors/status-error.ts';
import type { Timer } from '../lib/clock.ts';
import { ListNode } from '../lib/linked-list.ts';
import { TimeoutEntry, TimeoutQueue } from '../lib/timeout-queue.ts';
import type { LimiterOptions, QueueBounds } from './limiter-options.ts';

/** Exactly one of the two is called, once; neither after `stop`. */
export interface Waiter {
  /** The request has a slot from now on and releases it. Must not throw. */
  onAcquired(): void;
  onRefused(error: StatusError): void;
}

export interface QueuedRequest {
  stop(): void;
}

/** The limiter of all keys, as one of them sees it. */
export interface AllKeys {
  readonly options: LimiterOptions;
  readonly hasFreeSlot: boolean;
  /** A key has taken a slot. */
  take(): void;
  giveBack(): void;
  /** Grants free slots. */
  serve(): void;
  /** The key has something to grant: it takes its turn. */
  ready(key: KeyLimiter): void;
  /** Whether all queues together have room for one more request; requests of larger queues may give way to it. */
  hasRoom(key: KeyLimiter, bytes: number): boolean;
  /** The key's queue has changed by so much. */
  count(key: KeyLimiter, requests: number, bytes: number): void;
}

export class KeyLimiter extends ListNode {
  readonly #all: AllKeys;
  readonly #key: string;
  readonly #queue: TimeoutQueue;
  #inUse = 0;
  /** Of those in use: their connection is closed, and they are given back later. */
  #cooling = 0;
  #timer: Timer | undefined;
  #requests = 0;
  #bytes = 0;
  /** Closed connections that have no consequence. */
  #credit: number;
  #creditAt: number;

  constructor(all: AllKeys, key: string) {
    super();
    this.#all = all;
    this.#key = key;
    const { clock, queueTimeout, closings } = all.options;
    this.#queue = new TimeoutQueue(clock, queueTimeout);
    this.#credit = closings.burst;
    this.#creditAt = clock.now();
  }

  get inUse(): number {
    return this.#inUse;
  }

  get queued(): QueueBounds {
    return { requests: this.#requests, bytes: this.#bytes };
  }

  get unused(): boolean {
    return this.#inUse === 0 && this.#queue.empty && this.#refill() >= this.#all.options.closings.burst;
  }

  /** @returns whether there was a slot, which is to be released; if not, there is a queue */
  tryAcquire(): boolean {
    if (!this.#hasFreeSlot || !this.#queue.empty || !this.#all.hasFreeSlot) return false;
    this.#inUse += 1;
    this.#all.take();
    return true;
  }

  /**
   * @param bytes that the request holds in memory while it waits
   * @returns undefined if there is no room; the waiter is not called then
   */
  enqueue(waiter: Waiter, bytes: number): QueuedRequest | undefined {
    const { queue } = this.#all.options;
    if (this.#requests + 1 > queue.requests || this.#bytes + bytes > queue.bytes) return undefined;
    if (!this.#all.hasRoom(this, bytes)) return undefined;
    const request = new Queued(this.#queue, waiter, bytes, this);
    this.#queue.add(request);
    this.#count(1, bytes);
    this.#offer();
    return request;
  }

  /** What an `enqueue` without room means. */
  get full(): StatusError {
    return this.#all.options.full(this.#key);
  }

  release(): void {
    this.#inUse -= 1;
    this.#offer();
    this.#all.giveBack();
  }

  /**
   * The connection is closed: a next request needs a new one. So the key's slot stays taken if that happens too often;
   * other keys may use the connection's place at once.
   */
  releaseClosed(): void {
    if (this.#refill() >= 1) {
      this.#credit -= 1;
      this.release();
      return;
    }
    this.#cooling += 1;
    this.#cool();
    this.#all.giveBack();
  }

  /** To be called by the limiter of all keys, if there is a slot and a queue. */
  grant(): void {
    const { first } = this.#queue;
    if (!(first instanceof Queued) || !this.#hasFreeSlot) return;
    first.stop();
    this.#inUse += 1;
    this.#all.take();
    this.#offer();
    first.waiter.onAcquired();
  }

  /** To be called by the limiter of all keys. */
  refuseNewest(): void {
    const { last } = this.#queue;
    if (last instanceof Queued) this.refuse(last, this.full);
  }

  refuseAll(error: StatusError): void {
    for (let { first } = this.#queue; first instanceof Queued; { first } = this.#queue)
      this.refuse(first, error);
  }

  refuse(request: Queued, error: StatusError): void {
    request.stop();
    request.waiter.onRefused(error);
  }

  /** It waits no more. */
  left(bytes: number): void {
    this.#count(-1, -bytes);
    if (!this.#queue.empty) return;
    this.#queue.stop();
    this.unlink();
  }

  tooLate(request: Queued): void {
    this.refuse(request, this.#all.options.tooLate(this.#key));
  }

  get #hasFreeSlot(): boolean {
    return this.#inUse < this.#all.options.slotsPerKey;
  }

  /** Takes its turn among the keys, if it has anything to grant. */
  #offer(): void {
    if (!this.#queue.empty && this.#hasFreeSlot) this.#all.ready(this);
  }

  #count(requests: number, bytes: number): void {
    this.#requests += requests;
    this.#bytes += bytes;
    this.#all.count(this, requests, bytes);
  }

  #refill(): number {
    const { clock, closings } = this.#all.options;
    const now = clock.now();
    // A clock that was set back takes nothing.
    const seconds = Math.max(0, now - this.#creditAt) / 1_000;
    this.#credit = Math.min(closings.burst, this.#credit + seconds * closings.perSecond);
    this.#creditAt = now;
    return this.#credit;
  }

  /** One of the cooling slots after another. */
  #cool(): void {
    const { clock, closings } = this.#all.options;
    this.#timer ??= clock.after(1_000 / closings.perSecond, () => {
      this.#timer = undefined;
      // The time was for this slot, and is no credit beside it.
      this.#creditAt = clock.now();
      this.#cooling -= 1;
      this.#inUse -= 1;
      if (this.#cooling > 0) this.#cool();
      this.#offer();
      this.#all.serve();
    });
  }
}

class Queued extends TimeoutEntry implements QueuedRequest {
  readonly waiter: Waiter;
  readonly #queue: TimeoutQueue;
  readonly #bytes: number;
  readonly #key: KeyLimiter;
  readonly #until: number;
  #stopped = false;

  constructor(queue: TimeoutQueue, waiter: Waiter, bytes: number, key: KeyLimiter) {
    super();
    this.waiter = waiter;
    this.#queue = queue;
    this.#bytes = bytes;
    this.#key = key;
    this.#until = queue.clock.now() + queue.timeout;
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.unlink();
    this.#key.left(this.#bytes);
  }

  check(now: number): number {
    const left = this.#until - now;
    if (left > 0) return left;
    this.#key.tooLate(this);
    return this.#queue.timeout;
  }
}
