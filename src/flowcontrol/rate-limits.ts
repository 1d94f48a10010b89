/**
 * Rate limits by token buckets: of a tenant's requests, and of sign-ins at the portal. The tenant's limit
 * protects the API server for the other tenants: API Priority and Fairness sees Stonegate's credential, not
 * the tenant.
 */
import { LRUCache } from 'lru-cache';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { sourceKey } from '../lib/source-key.ts';
import { type Rate, TokenBucket } from '../lib/token-bucket.ts';

const MAX_KEYS = 10_000;

export interface TokenBucketsOptions extends Rate {
  /**
   * The number of keys is bounded: the least recently used one is forgotten and would start with a full
   * bucket. So a limit for all keys together belongs beside this one.
   */
  readonly maxKeys: number;
  readonly clock: Clock;
}

/** One token bucket per key. */
export interface TokenBuckets {
  /** @returns whether there was a token */
  take(key: string): boolean;
  /** Tokens that are not there are owed. */
  spend(key: string, tokens: number): void;
  /** The number of known keys. */
  readonly size: number;
}

export function createTokenBuckets({ perSecond, burst, maxKeys, clock }: TokenBucketsOptions): TokenBuckets {
  const rate = { perSecond, burst };
  const buckets = new LRUCache<string, TokenBucket>({ max: maxKeys });
  function bucketOf(key: string, now: number): TokenBucket {
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(rate, now);
      buckets.set(key, bucket);
    }
    return bucket;
  }

  return {
    take(key) {
      const now = clock.now();
      return bucketOf(key, now).tryTake(now);
    },
    spend(key, tokens) {
      const now = clock.now();
      bucketOf(key, now).spend(now, tokens);
    },
    get size() {
      return buckets.size;
    },
  };
}

export interface TenantRateLimit {
  /** @throws StatusError TenantRateExceeded */
  admit(tenant: string): void;
}

export function createTenantRateLimit({ clock, ...rate }: Rate & { readonly clock: Clock }): TenantRateLimit {
  const buckets = createTokenBuckets({ ...rate, maxKeys: MAX_KEYS, clock });
  return {
    admit(tenant) {
      if (buckets.take(tenant)) return;
      throw new StatusError(
        'TenantRateExceeded',
        `Too many requests, please try again later: the tenant ${JSON.stringify(tenant)} is over its rate`,
      );
    },
  };
}

/**
 * Per source address, against one client that tries many users or makes Stonegate ask the backends for
 * nothing; and per user, against many clients that try one. An attacked user waits up to a minute too, which
 * is better than a guessed password.
 */
export interface SignInRateLimiter {
  /**
   * @param user whose password is tried; undefined if an issuer asks for it
   * @returns whose limit is exceeded, if one is; a try that is refused counts for the source alone
   */
  admit(source: string, user: string | undefined): 'source' | 'user' | undefined;
}

export function createSignInRateLimit(options: {
  readonly perSource: Rate;
  readonly perUser: Rate;
  readonly clock: Clock;
}): SignInRateLimiter {
  const { perSource, perUser, clock } = options;
  const sources = createTokenBuckets({ ...perSource, maxKeys: MAX_KEYS, clock });
  const users = createTokenBuckets({ ...perUser, maxKeys: MAX_KEYS, clock });
  return {
    admit(source, user) {
      if (!sources.take(sourceKey(source))) return 'source';
      return user === undefined || users.take(user) ? undefined : 'user';
    },
  };
}
