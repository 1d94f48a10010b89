/**
 * How many requests of one tenant are let through, so that no tenant takes the API server from the others.
 * API priority and fairness sees Stonegate's own credential, not the tenant.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { createTokenBuckets } from './token-buckets.ts';

export interface TenantLimitOptions {
  readonly perSecond: number;
  readonly burst: number;
  readonly clock: Clock;
  /** Tenants remembered at once. */
  readonly maxTenants?: number;
}

export interface TenantLimit {
  /** @throws StatusError TenantRateExceeded */
  admit(tenant: string): void;
}

export function createTenantLimit(options: TenantLimitOptions): TenantLimit {
  const buckets = createTokenBuckets({
    perSecond: options.perSecond,
    burst: options.burst,
    maxKeys: options.maxTenants ?? 10_000,
    clock: options.clock,
  });
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
