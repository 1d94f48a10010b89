/**
 * One token bucket per key: a burst at once, then a steady rate. Buckets are filled when they are looked at,
 * so that no timer runs. The number of keys is bounded: the key longest unseen is forgotten and would start
 * anew with a full bucket, which is why a bound over all keys belongs beside this one.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';

export interface TokenBucketsOptions {
  /** Tokens a second that flow in. */
  readonly perSecond: number;
  /** Tokens a full bucket holds. */
  readonly burst: number;
  readonly maxKeys: number;
  readonly clock: Clock;
}

export interface TokenBuckets {
  /** Takes one token; false where there is none. */
  take(key: string): boolean;
  /** How many keys are known. */
  readonly size: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

export function createTokenBuckets({ perSecond, burst, maxKeys, clock }: TokenBucketsOptions): TokenBuckets {
  const buckets = new LRUCache<string, Bucket>({ max: maxKeys });
  function newBucket(key: string, filledAt: number): Bucket {
    const bucket = { tokens: burst, filledAt };
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    take(key) {
      const now = clock.now();
      const bucket = buckets.get(key) ?? newBucket(key, now);
      // A clock set back must not empty the bucket.
      const seconds = Math.max(0, now - bucket.filledAt) / 1000;
      bucket.tokens = Math.min(burst, bucket.tokens + seconds * perSecond);
      bucket.filledAt = now;
      if (bucket.tokens < 1) return false;
      bucket.tokens -= 1;
      return true;
    },
    get size() {
      return buckets.size;
    },
  };
}
