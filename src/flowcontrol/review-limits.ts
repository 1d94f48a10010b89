/**
 * Limits the reviews of the admission webhook, which every client of the network may reach: a rate for each
 * source address, reviews at the same time, and the memory of their bodies. One source leaves room for
 * others, so that a pod that floods the webhook does not stop the API servers.
 */
import { StatusError } from '../errors/status-error.ts';
import { ByteBudget } from '../lib/byte-budget.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore } from '../lib/keyed-semaphore.ts';
import { sourceKey } from '../lib/source-key.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { Rate } from '../lib/token-bucket.ts';
import { createTokenBuckets } from './rate-limits.ts';

export interface ReviewLimitsOptions {
  readonly perSource: Rate;
  /** Reviews at the same time of one source; four times as many in all. */
  readonly concurrent: number;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export interface ReviewLimits {
  enter<T>(source: string, bytes: number, work: () => Promise<T>): Promise<T>;
}

const MAX_SOURCES = 10_000;
const SOURCES_AT_ONCE = 4;
/** Of all bodies. */
const MEMORY = { total: 96 * 1024 * 1024, perKey: 48 * 1024 * 1024 };
const QUEUE_BYTES = Number.POSITIVE_INFINITY;
/** Milliseconds. API servers wait five seconds for a verdict. */
const QUEUE_TIMEOUT = 2_000;

export function createReviewLimits({
  perSource,
  concurrent,
  clock,
  telemetry,
}: ReviewLimitsOptions): ReviewLimits {
  const buckets = createTokenBuckets({ ...perSource, maxKeys: MAX_SOURCES, clock });
  const memory = new ByteBudget(MEMORY);
  const permits = new KeyedSemaphore({
    clock,
    permits: concurrent * SOURCES_AT_ONCE,
    permitsPerKey: concurrent,
    queue: { requests: concurrent * SOURCES_AT_ONCE, bytes: QUEUE_BYTES },
    queuePerKey: { requests: concurrent, bytes: QUEUE_BYTES },
    queueTimeout: QUEUE_TIMEOUT,
    refusal,
  });

  function refusal(): StatusError {
    telemetry.admissionReview('limited');
    return new StatusError(
      'AdmissionRateExceeded',
      'Too many requests, please try again later: too many admission reviews from your address',
    );
  }

  return {
    async enter(source, bytes, work) {
      const key = sourceKey(source);
      if (!buckets.take(key)) throw refusal();
      const permit = permits.of(key);
      if (!permit.tryAcquire()) await permit.acquire(0);
      try {
        const release = memory.reserve(key, bytes);
        if (release === undefined) throw refusal();
        try {
          return await work();
        } finally {
          release();
        }
      } finally {
        permit.release();
      }
    },
  };
}
