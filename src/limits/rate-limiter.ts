/**
 * Limits a rate for each key: a burst at once, then a steady rate. It is the Generic Cell Rate Algorithm
 * (ITU-T I.371) in its form as a bucket of tokens, which is filled when it is read, so that no timer runs.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';

export interface Rate {
  readonly perSecond: number;
  /** Tokens that a full bucket contains. */
  readonly burst: number;
}

/** The rate of what the log would say again and again. */
export const ONCE_A_MINUTE: Rate = { perSecond: 1 / 60, burst: 1 };

export interface RateLimiterOptions extends Rate {
  /**
   * The number of keys is bounded, 10,000 without this: the least recently used one is forgotten and would
   * start with a full bucket. So a limit for all keys together belongs beside this one.
   */
  readonly maxKeys?: number;
  readonly clock: Clock;
}

export interface RateLimiter {
  /** @returns whether there were so many tokens (1), which are taken; if not, none is */
  take(key: string, tokens?: number): boolean;
  /** @returns milliseconds until there are so many tokens (1); 0 if there are */
  wait(key: string, tokens?: number): number;
  /** Tokens that are not there are owed. Fewer than none are given back. */
  spend(key: string, tokens: number): void;
  /** Takes so many tokens, or as many as there are. */
  drain(key: string, tokens: number): void;
  /** The number of known keys. */
  readonly size: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

const MAX_KEYS = 10_000;
/** The sum of many small refills is rounded: who waits exactly until there is a token finds one. */
const ROUNDING = 1e-6;

export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { perSecond, burst, maxKeys = MAX_KEYS, clock } = options;
  // With `max` lru-cache would allocate its arrays for all keys at once.
  const buckets = new LRUCache<string, Bucket>({ maxSize: maxKeys, sizeCalculation: () => 1 });

  function bucketOf(key: string): Bucket {
    const now = clock.now();
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, filledAt: now };
      buckets.set(key, bucket);
    }
    // A clock that was set back takes no tokens.
    const seconds = Math.max(0, now - bucket.filledAt) / 1_000;
    bucket.tokens = Math.min(burst, bucket.tokens + seconds * perSecond);
    bucket.filledAt = now;
    return bucket;
  }

  return {
    take(key, tokens = 1) {
      const bucket = bucketOf(key);
      if (bucket.tokens + ROUNDING < tokens) return false;
      bucket.tokens -= tokens;
      return true;
    },
    wait(key, tokens = 1) {
      const missing = tokens - (buckets.has(key) ? bucketOf(key).tokens : burst);
      return missing <= ROUNDING ? 0 : (missing / perSecond) * 1_000;
    },
    spend(key, tokens) {
      bucketOf(key).tokens -= tokens;
    },
    drain(key, tokens) {
      const bucket = bucketOf(key);
      bucket.tokens -= Math.min(tokens, Math.max(0, bucket.tokens));
    },
    get size() {
      return buckets.size;
    },
  };
}
