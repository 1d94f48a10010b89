/**
 * A cache whose least recently used entry makes room, and whose entries have an end. The time is read at each
 * access, so that no timer runs while it is idle.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';

export interface ExpiringCache<T> {
  /** @param now milliseconds since the epoch, if the caller has it already */
  get(key: string, now?: number): T | undefined;
  /** @param until milliseconds since the epoch; if it has passed, nothing is stored */
  set(key: string, value: T, until: number): void;
  delete(key: string): void;
  clear(): void;
}

export function createExpiringCache<T>(options: {
  readonly maxEntries: number;
  readonly clock: Clock;
}): ExpiringCache<T> {
  const { maxEntries, clock } = options;
  const entries = new LRUCache<string, { readonly value: T; readonly until: number }>({ max: maxEntries });
  return {
    get(key, now = clock.now()) {
      // The cache of refused credentials is empty as a rule, and each request asks it.
      const entry = entries.size === 0 ? undefined : entries.get(key);
      if (entry === undefined || now < entry.until) return entry?.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value, until) {
      if (clock.now() < until) entries.set(key, { value, until });
      else entries.delete(key);
    },
    delete(key) {
      entries.delete(key);
    },
    clear() {
      entries.clear();
    },
  };
}
