/**
 * Writes that the API server has reviewed by the admission webhook. Arktos calls each URL of a webhook at
 * most five times a second and lets the other writes wait in order of arrival. So that a tenant does not wait
 * for all writes of another, only a few are sent at once for each URL, of one tenant in turn.
 */

import type { Account } from '../kubernetes/upstream-request.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore, type Semaphore } from '../limits/keyed-semaphore.ts';
import { REVIEWED_WRITE_QUEUES } from '../limits/memory-bounds.ts';
import { createRateLimiter } from '../limits/rate-limiter.ts';
import { stonegateQueueFull, tenantOverRate, tenantQueueFull, timedOut, unavailable } from './failure.ts';

/** Writes for one URL that wait for a response: the API server never waits for the next one. */
const WRITES = 4;
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
  /** Bounds the waiting writes of a tenant for each URL. */
  readonly tenantQueue: { readonly bytes: number };
  /** The path of the webhook for a request; undefined if it is not reviewed. */
  readonly pathOf: (method: string, target: string) => string | undefined;
}

/** An account's writes for one URL. Each has a permit of both semaphores until the API server responds. */
export interface ReviewedWrite {
  /** The few writes of the tenant that take turns with those of other tenants; the others wait here. */
  tenant(): Semaphore;
  /** The writes for the URL. */
  url(): Semaphore;
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
  const common = { clock, queueTimeout, permitsPerKey: WRITES };
  const noTurn = () => timedOut("the tenant's turn to write did not come");
  const tenants = new KeyedSemaphore({
    ...common,
    permits: Number.POSITIVE_INFINITY,
    queue: REVIEWED_WRITE_QUEUES * tenantQueue.bytes,
    queuePerKey: tenantQueue.bytes,
    refusal(reason, key) {
      if (reason === 'timeout') return noTurn();
      const [, tenant = STONEGATE] = key.split(' ');
      return tenant === STONEGATE ? stonegateQueueFull() : tenantQueueFull(tenant);
    },
  });
  /** One for each path that `pathOf` knows. Their queues hold what `tenants` lets through. */
  const urls = new Map<string, KeyedSemaphore>();
  function urlOf(path: string): KeyedSemaphore {
    const known = urls.get(path);
    if (known !== undefined) return known;
    const unbounded = { queue: Number.POSITIVE_INFINITY, queuePerKey: Number.POSITIVE_INFINITY };
    const created = new KeyedSemaphore({ ...common, ...unbounded, permits: WRITES, refusal: noTurn });
    urls.set(path, created);
    return created;
  }

  return {
    of(account, method, target) {
      const path = account.kind === 'source' ? undefined : pathOf(method, target);
      if (path === undefined) return undefined;
      const url = urlOf(path);
      if (account.kind !== 'tenant')
        return {
          tenant: () => tenants.of(`${path} ${STONEGATE}`),
          url: () => url.of(STONEGATE),
          cancelled() {},
        };
      const { tenant, guests } = account;
      const key = `${path} ${tenant}`;
      if (!cancellations.allows(key)) throw tenantOverRate(tenant, 'has cancelled too many writes');
      return {
        tenant: () => (guests ? tenants.of(`${key} guests`, WRITES_OF_GUESTS) : tenants.of(key)),
        url: () => url.of(tenant),
        cancelled: () => cancellations.spend(key, 1),
      };
    },
    destroy() {
      const gone = unavailable('the connections are being given up');
      for (const writes of [tenants, ...urls.values()]) writes.refuseAll(gone);
    },
  };
}
