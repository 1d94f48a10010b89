/**
 * Limits the writes that the API server has reviewed by the admission webhook. Arktos calls each URL of a
 * webhook at most five times a second and lets the other writes wait in order of arrival. So that no tenant's
 * writes wait for many of another, each tenant has only a few writes for each URL at the API server.
 */

import type { Account } from '../kubernetes/upstream-request.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore, type Semaphore } from '../limits/keyed-semaphore.ts';
import { REVIEWED_WRITE_QUEUES } from '../limits/memory-bounds.ts';
import { stonegateQueueFull, tenantQueueFull, timedOut, unavailable } from './failure.ts';

/** Writes of one tenant for one URL at a time. With two, the next one is there when the webhook responds. */
const WRITES_OF_TENANT = 2;
/** Writes for one URL of all guests from one tenant. */
const WRITES_OF_GUESTS = 1;
/** Stands for the tenant of Stonegate's own writes; no tenant's name is empty. */
const STONEGATE = '';

export interface ReviewedWritePermitsOptions {
  readonly clock: Clock;
  /** Milliseconds that a write waits. */
  readonly queueTimeout: number;
  /** Bounds the waiting writes of a tenant for each URL. */
  readonly tenantQueue: { readonly bytes: number };
  /** The path of the webhook for a request; undefined if it is not reviewed. */
  readonly pathOf: (method: string, target: string) => string | undefined;
}

export interface ReviewedWritePermits {
  /**
   * @returns the permits of the account's writes for the URL, to be used at once; undefined for a request
   *   that is not reviewed
   */
  of(account: Account, method: string, target: string): Semaphore | undefined;
  /** Refuses all waiting writes. */
  destroy(): void;
}

export function createReviewedWritePermits(options: ReviewedWritePermitsOptions): ReviewedWritePermits {
  const { clock, queueTimeout, tenantQueue, pathOf } = options;
  const writes = new KeyedSemaphore({
    clock,
    queueTimeout,
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: WRITES_OF_TENANT,
    queue: REVIEWED_WRITE_QUEUES * tenantQueue.bytes,
    queuePerKey: tenantQueue.bytes,
    refusal(reason, key) {
      if (reason === 'timeout') return timedOut("none of the tenant's earlier writes ended");
      const [, tenant = STONEGATE] = key.split(' ');
      return tenant === STONEGATE ? stonegateQueueFull() : tenantQueueFull(tenant);
    },
  });
  return {
    of(account, method, target) {
      if (account.kind === 'source') return undefined;
      const path = pathOf(method, target);
      if (path === undefined) return undefined;
      if (account.kind === 'stonegate') return writes.of(`${path} ${STONEGATE}`);
      const key = `${path} ${account.tenant}`;
      return account.guests ? writes.of(`${key} guests`, WRITES_OF_GUESTS) : writes.of(key);
    },
    destroy: () => writes.refuseAll(unavailable('the connections are being given up')),
  };
}
