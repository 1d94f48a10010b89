/**
 * Limits the reviews of the admission webhook, which every client of the network may reach: for each source
 * address a rate of reviews and bytes, reviews at the same time, and the memory of their bodies. One source
 * has at most an eighth, and complete bodies are judged in turn, so that a flood does not stop API servers.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { sourceKey } from '../lib/source-key.ts';
import { ByteBudget } from './byte-budget.ts';
import { KeyedSemaphore } from './keyed-semaphore.ts';
import { createRateLimiter, type Rate } from './rate-limiter.ts';

export interface ReviewLimitsOptions {
  readonly perSource: Rate;
  /** Reviews at the same time of one source; eight times as many in all. */
  readonly concurrent: number;
  readonly clock: Clock;
  /** Called for each review that is refused. */
  readonly onRefused: () => void;
}

export interface AdmittedReview {
  /** @throws StatusError AdmissionRateExceeded if there is no memory for so many bytes */
  onSize(bytes: number): void;
  /** Judges the complete body as soon as it is the source's turn. */
  inTurn<T>(judge: () => T): Promise<T>;
}

export interface ReviewLimits {
  enter<T>(source: string, work: (admitted: AdmittedReview) => Promise<T>): Promise<T>;
}

const SOURCES_AT_ONCE = 8;
const MEBIBYTE = 1024 * 1024;
/** A source has room for the largest body. */
const SOURCE_BYTES = 12 * MEBIBYTE;
/** What the bodies of all reviews hold at most. */
export const REVIEWS_BYTES = SOURCES_AT_ONCE * SOURCE_BYTES;
/** A larger body counts as several reviews. */
const BYTES_OF_A_REVIEW = 4 * 1024;
/** Milliseconds. API servers wait five seconds for a verdict. */
const QUEUE_TIMEOUT = 2_000;

export function createReviewLimits({
  perSource,
  concurrent,
  clock,
  onRefused,
}: ReviewLimitsOptions): ReviewLimits {
  const rates = createRateLimiter({ ...perSource, clock });
  const memory = new ByteBudget({ total: REVIEWS_BYTES, perKey: SOURCE_BYTES });
  const queues = {
    clock,
    queue: concurrent * SOURCES_AT_ONCE,
    queuePerKey: concurrent,
    queueTimeout: QUEUE_TIMEOUT,
    refusal,
  };
  const permits = new KeyedSemaphore({
    ...queues,
    permits: concurrent * SOURCES_AT_ONCE,
    permitsPerKey: concurrent,
  });
  /** One body at a time: judging takes the only thread. */
  const turns = new KeyedSemaphore({ ...queues, permits: 1, permitsPerKey: 1 });

  function refusal(): StatusError {
    onRefused();
    return new StatusError(
      'AdmissionRateExceeded',
      'Too many requests, please try again later: too many admission reviews from your address',
    );
  }

  async function inTurn<T>(key: string, judge: () => T): Promise<T> {
    const turn = turns.of(key);
    await turn.acquire();
    try {
      return judge();
    } finally {
      // Bodies of other sources arrive before the next one is judged.
      setImmediate(() => turn.release());
    }
  }

  return {
    async enter(source, work) {
      const key = sourceKey(source);
      if (!rates.take(key)) throw refusal();
      const permit = permits.of(key);
      await permit.acquire();
      const reserved = memory.reservation(key);
      let size = 0;
      let ended = false;
      try {
        return await work({
          onSize(bytes) {
            if (ended) throw new Error('the review has ended');
            if (!reserved.resize(bytes)) throw refusal();
            size = bytes;
          },
          inTurn: (judge) => inTurn(key, judge),
        });
      } finally {
        ended = true;
        rates.spend(key, Math.floor(size / BYTES_OF_A_REVIEW));
        reserved.release();
        permit.release();
      }
    },
  };
}
