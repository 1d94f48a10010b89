/**
 * Metrics of the quotas of tenants. One worker of the replica with the lease counts what tenants use.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import { QUOTA_RESULTS, type QuotaMeasure, type Telemetry } from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

export function createQuotaMetrics(
  registers: Registry[],
): Pick<Telemetry, 'quotaReview' | 'quotaRepaired' | 'quotasInForce'> {
  const reviews = createCounter(registers, {
    name: 'stonegate_quota_reviews_total',
    help: 'Reviews that the quota of a tenant judged, by result.',
    labels: { result: QUOTA_RESULTS },
  });
  const repairs = new Counter({
    name: 'stonegate_quota_repairs_total',
    help: 'Counted usages that another client had changed, and that were written anew.',
    registers,
  });
  let read: (() => readonly QuotaMeasure[]) | undefined;
  new Gauge({
    name: 'stonegate_tenant_quota_used_ratio',
    help: 'What tenants use of their quotas, where it is 0.8 or more; the highest 1,000.',
    labelNames: ['tenant', 'resource'],
    aggregator: 'max',
    registers,
    collect() {
      this.reset();
      for (const { usedRatio, ...labels } of read?.() ?? []) this.set(labels, usedRatio);
    },
  });
  return {
    quotaReview: (result) => reviews.inc({ result }),
    quotaRepaired: () => repairs.inc(),
    quotasInForce(source) {
      read = source;
      return () => {
        if (read === source) read = undefined;
      };
    },
  };
}
