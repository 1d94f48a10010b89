/**
 * Metrics of Keystone's limits. Only processes that have needed the limits have their age.
 */
import { defineGauge } from '../../lib/metric.ts';

export const KEYSTONE_LIMITS_AGE = defineGauge({
  name: 'stonegate_keystone_limits_age_seconds',
  help: "Time since Keystone's limits were read; before that, since they were first needed.",
  labels: {},
  aggregator: 'min',
});
