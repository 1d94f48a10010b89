/**
 * Writes that the API server has reviewed by the admission webhook. Arktos calls each URL of a webhook at
 * most five times a second and lets the other writes wait in order of arrival. So that a tenant does not wait
 * for all writes of another, only a few for each URL are sent at once, those of each account in turn.
 */
import { REVIEWED_WRITE_QUEUES } from '../api/memory-bounds.ts';
import type { Account } from '../api/upstream-request.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore, Queues } from '../lib/keyed-semaphore.ts';
import type { QueueBounds, Semaphore } from '../lib/semaphore.ts';
import { stonegateQueueFull, tenantQueueFull, timedOut, unavailable } from './failure.ts';

/** Writes for one URL that wait for a response: enough that the API server never waits for the next one. */
const WRITES_PER_URL = 4;
/** Writes for one URL of all guests from one tenant. */
const WRITES_OF_GUESTS = 1;
/**
 * Permits of an account whose connections were closed before the response come back slowly: the API server
 * may still call the webhook.
 */
const CANCELLED = { burst: WRITES_PER_URL, perSecond: 1 };
/** The key of Stonegate's own writes; no tenant's name is empty. */
const STONEGATE = '';

export interface ReviewedWritesOptions {
  readonly clock: Clock;
  /** Milliseconds that a write waits. */
  readonly queueTimeout: number;
  /** The queue of a tenant for each URL. */
  readonly tenantQueue: QueueBounds;
  /** The path of the webhook for a request; undefined if it is not reviewed. */
  readonly pathOf: (method: string, target: string) => string | undefined;
}

export interface ReviewedWrites {
  /** Undefined for a request that is not reviewed. */
  permitsOf(account: Account, method: string, target: string): Semaphore | undefined;
  /** Refuses all waiting writes. */
  destroy(): void;
}

export function createReviewedWrites(options: ReviewedWritesOptions): ReviewedWrites {
  const { clock, queueTimeout, tenantQueue, pathOf } = options;
  const { requests, bytes } = tenantQueue;
  const queue = { requests: REVIEWED_WRITE_QUEUES * requests, bytes: REVIEWED_WRITE_QUEUES * bytes };
  const queues = new Queues(queue);
  const urls = new Map<string, KeyedSemaphore>();

  function writesTo(path: string): KeyedSemaphore {
    const known = urls.get(path);
    if (known !== undefined) return known;
    const created = new KeyedSemaphore(
      {
        clock,
        queueTimeout,
        permits: WRITES_PER_URL,
        permitsPerKey: WRITES_PER_URL,
        queue,
        queuePerKey: tenantQueue,
        delayedRelease: CANCELLED,
        refusal(reason, key) {
          if (reason === 'timeout') return timedOut("the tenant's turn to write did not come");
          return key === STONEGATE ? stonegateQueueFull() : tenantQueueFull(key);
        },
      },
      queues,
    );
    urls.set(path, created);
    return created;
  }

  return {
    permitsOf(account, method, target) {
      const path = account.kind === 'source' ? undefined : pathOf(method, target);
      if (path === undefined) return undefined;
      if (account.kind !== 'tenant') return writesTo(path).of(STONEGATE);
      const permits = writesTo(path).of(account.tenant);
      return account.guests ? permits.part(WRITES_OF_GUESTS) : permits;
    },
    destroy: () => queues.refuseAll(unavailable('the connections are being given up')),
  };
}
