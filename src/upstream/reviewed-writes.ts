/**
 * Writes that the API server has reviewed by the admission webhook. Arktos calls each URL of a webhook at
 * most five times a second and lets the other writes wait in order of arrival. So that a tenant does not wait
 * for all writes of another, each sends only a few at once for each URL.
 */
import { REVIEWED_WRITE_QUEUES } from '../api/memory-bounds.ts';
import type { Account } from '../api/upstream-request.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore, type Semaphore } from '../lib/keyed-semaphore.ts';
import { createRateLimiter } from '../lib/rate-limiter.ts';
import { stonegateQueueFull, tenantOverRate, tenantQueueFull, timedOut, unavailable } from './failure.ts';

/** Writes of a tenant for one URL that wait for a response: the API server never waits for the next one. */
const WRITES = 2;
/** Writes for one URL of all guests from one tenant. */
const WRITES_OF_GUESTS = 1;
/** Writes that a tenant cancels: the API server may still call the webhook. */
const CANCELLED = { burst: 4, perSecond: 1 };
/** Stands for the tenant of Stonegate's own writes; no tenant's name is empty. */
const STONEGATE = '';

export interface ReviewedWritesOptions {
  readonly clock: Clock;
  /** Milliseconds that a write waits. */
  readonly queueTimeout: number;
  /** Of the waiting writes of a tenant for each URL. */
  readonly tenantQueue: { readonly bytes: number };
  /** The path of the webhook for a request; undefined if it is not reviewed. */
  readonly pathOf: (method: string, target: string) => string | undefined;
}

/** The account's writes for one URL. */
export interface ReviewedWrite {
  /** A permit is held until the API server responds. */
  readonly permits: Semaphore;
  /** One of them caused its connection to be closed. */
  cancelled(): void;
}

export interface ReviewedWrites {
  /**
   * @returns undefined for a request that is not reviewed
   * @throws StatusError TenantRateExceeded if the tenant has cancelled too many
   */
  of(account: Account, method: string, target: string): ReviewedWrite | undefined;
  /** Refuses all waiting writes. */
  destroy(): void;
}

export function createReviewedWrites(options: ReviewedWritesOptions): ReviewedWrites {
  const { clock, queueTimeout, tenantQueue, pathOf } = options;
  const cancellations = createRateLimiter({ ...CANCELLED, clock });
  const writes = new KeyedSemaphore({
    clock,
    queueTimeout,
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: WRITES,
    queue: REVIEWED_WRITE_QUEUES * tenantQueue.bytes,
    queuePerKey: tenantQueue.bytes,
    refusal(reason, key) {
      if (reason === 'timeout') return timedOut("the tenant's turn to write did not come");
      const [, tenant = STONEGATE] = key.split(' ');
      return tenant === STONEGATE ? stonegateQueueFull() : tenantQueueFull(tenant);
    },
  });

  return {
    of(account, method, target) {
      const path = account.kind === 'source' ? undefined : pathOf(method, target);
      if (path === undefined) return undefined;
      if (account.kind !== 'tenant') return { permits: writes.of(`${path} ${STONEGATE}`), cancelled() {} };
      const { tenant, guests } = account;
      const key = `${path} ${tenant}`;
      if (!cancellations.allows(key)) throw tenantOverRate(tenant, 'has cancelled too many writes');
      return {
        permits: guests ? writes.of(`${key} guests`, WRITES_OF_GUESTS) : writes.of(key),
        cancelled: () => cancellations.spend(key, 1),
      };
    },
    destroy: () => writes.refuseAll(unavailable('the connections are being given up')),
  };
}
