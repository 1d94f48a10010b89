/**
 * Metrics of the quotas of tenants. One worker of the replica with the lease counts what tenants use.
 */
import { defineCounter, defineGauge, OPEN } from '../../lib/metric.ts';

export const QUOTA_REVIEWS = defineCounter({
  name: 'stonegate_quota_reviews_total',
  help: 'Reviews that the quota of a tenant judged, by result.',
  labels: {
    result: ['admitted', 'exceeded', 'namespace', 'unspecified', 'uncounted', 'contended', 'full', 'absent'],
  },
});
export const QUOTA_REPAIRS = defineCounter({
  name: 'stonegate_quota_repairs_total',
  help: 'Counted usages that another client had changed, and that were written anew.',
  labels: {},
});
export const QUOTA_USED = defineGauge({
  name: 'stonegate_tenant_quota_used_ratio',
  help: 'What tenants use of their quotas, where it is 0.8 or more; the highest 1,000.',
  labels: { tenant: OPEN, resource: OPEN },
  aggregator: 'max',
});
