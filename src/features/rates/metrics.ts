/**
 * Metrics of rates.
 */
import { defineCounter, defineGauge } from '../../lib/metric.ts';

export const RATE_LIMITED = defineCounter({
  name: 'stonegate_rate_limited_total',
  help: 'Requests beyond a rate of a tenant or a user: refused, or let through in shadow mode.',
  labels: { limit: ['tenant', 'user'], result: ['refused', 'shadow'] },
});
export const RATE_SHARES_IN_FORCE = defineGauge({
  name: 'stonegate_rate_shares_in_force',
  help: 'Whether the process admits its own share of the rates, without Redis: 1 or 0.',
  labels: {},
  aggregator: 'max',
  initial: 0,
});
