/**
 * Limits how many requests of one key (a tenant, a client's address) run at the same time. Further requests wait in the
 * key's own queue, which is bounded in requests, bytes and time; if all slots are in use, the keys are served in turn.
 * After kube-apiserver's priority levels:
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
 */
import type { StatusError } from '../errors/status-error.ts';
import { ListNode } from '../lib/linked-list.ts';
import { type AllKeys, KeyLimiter } from './key-limiter.ts';
import type { LimiterOptions, QueueBounds } from './limiter-options.ts';

/** All queues together hold so many times as much as one. */
export const QUEUES = 16;
/** From so many keys on, those without any request are forgotten. */
const MANY_KEYS = 10_000;

export class Limiter implements AllKeys {
  readonly options: LimiterOptions;
  readonly #keys = new Map<string, KeyLimiter>();
  /** Keys that have a queue and a free slot of their own, in the order in which they are served. */
  readonly #ready = new ListNode();
  readonly #queued = new Set<KeyLimiter>();
  #queuedRequests = 0;
  #queuedBytes = 0;
  #inUse = 0;
  #serving = false;
  #sweepAt = MANY_KEYS;

  constructor(options: LimiterOptions) {
    this.options = options;
  }

  /** @returns what is to be used at once: a key without requests may be forgotten when another key comes */
  of(key: string): KeyLimiter {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    if (this.#keys.size >= this.#sweepAt) this.#sweep();
    const made = new KeyLimiter(this, key);
    this.#keys.set(key, made);
    return made;
  }

  /** How many keys are known. */
  get size(): number {
    return this.#keys.size;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get queued(): QueueBounds {
    return { requests: this.#queuedRequests, bytes: this.#queuedBytes };
  }

  get hasFreeSlot(): boolean {
    return this.#inUse < this.options.slots;
  }

  /** A key has taken a slot. */
  take(): void {
    this.#inUse += 1;
  }

  giveBack(): void {
    this.#inUse -= 1;
    this.serve();
  }

  /** Grants free slots. A request that fails at once releases from within: hence a loop and no recursion. */
  serve(): void {
    if (this.#serving) return;
    this.#serving = true;
    try {
      while (this.hasFreeSlot) {
        const { next } = this.#ready;
        if (!(next instanceof KeyLimiter)) break;
        next.unlink();
        next.grant();
      }
    } finally {
      this.#serving = false;
    }
  }

  /** Nothing waits any more. */
  refuseAll(error: StatusError): void {
    for (const key of this.#queued) key.refuseAll(error);
  }

  /** Behind the other keys. */
  ready(key: KeyLimiter): void {
    if (!key.linked) key.insertBefore(this.#ready);
  }

  /**
   * Whether all queues together have room for one more request. If they are full, the newest requests of the key that
   * holds most give way to a key that holds less.
   */
  hasRoom(key: KeyLimiter, bytes: number): boolean {
    const { requests: maxRequests, bytes: maxBytes } = this.options.queue;
    return (
      this.#makeRoom(key, 'requests', 1, QUEUES * maxRequests) &&
      this.#makeRoom(key, 'bytes', bytes, QUEUES * maxBytes)
    );
  }

  /** A key's queue has changed by so much. */
  count(key: KeyLimiter, requests: number, bytes: number): void {
    this.#queuedRequests += requests;
    this.#queuedBytes += bytes;
    if (key.queued.requests === 0) this.#queued.delete(key);
    else this.#queued.add(key);
  }

  #makeRoom(key: KeyLimiter, what: keyof QueueBounds, more: number, max: number): boolean {
    while (this.queued[what] + more > max) {
      let largest = key;
      for (const other of this.#queued) if (other.queued[what] > largest.queued[what]) largest = other;
      if (largest.queued[what] <= key.queued[what] + more) return false;
      largest.refuseNewest();
    }
    return true;
  }

  #sweep(): void {
    for (const [name, key] of this.#keys) if (key.unused) this.#keys.delete(name);
    // If nearly all are in use, the next sweep waits until there are twice as many, so that sweeps stay rare.
    this.#sweepAt = Math.max(MANY_KEYS, this.#keys.size * 2);
  }
}
