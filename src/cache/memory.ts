/**
 * The in-process tier, an LRU cache with expiry. The time is read at each access, so that no timer runs while
 * it is idle.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';

export interface MemoryTier<T> {
  /** @param now milliseconds since the epoch, if the caller has it already */
  get(key: string, now?: number): T | undefined;
  /** @param until milliseconds since the epoch; if it has passed, nothing is stored */
  set(key: string, value: T, until: number): void;
  delete(key: string): void;
  clear(): void;
  readonly size: number;
  keys(): Iterable<string>;
}

export interface MemoryTierOptions {
  readonly maxEntries: number;
  readonly clock: Clock;
}

interface Slot<T> {
  readonly value: T;
  readonly until: number;
}

export function createMemoryTier<T>({ maxEntries, clock }: MemoryTierOptions): MemoryTier<T> {
  const slots = new LRUCache<string, Slot<T>>({ max: maxEntries });
  return {
    get(key, now = clock.now()) {
      // Of bad credentials there are none as a rule, and each request asks.
      const slot = slots.size === 0 ? undefined : slots.get(key);
      if (slot === undefined) return undefined;
      if (now < slot.until) return slot.value;
      slots.delete(key);
      return undefined;
    },
    set(key, value, until) {
      if (clock.now() < until) slots.set(key, { value, until });
      else slots.delete(key);
    },
    delete(key) {
      slots.delete(key);
    },
    clear() {
      slots.clear();
    },
    get size() {
      return slots.size;
    },
    keys: () => slots.keys(),
  };
}
