/**
 * Metrics of cross-tenant policies and administrations. Each worker has its own set of policies: of the
 * workers the worst one counts.
 */
import { defineGauge } from '../../lib/metric.ts';

export const POLICIES = defineGauge({
  name: 'stonegate_policies',
  help: 'Policies in force by form; not-ready: objects and configured administrations that grant nothing.',
  labels: { form: ['abac', 'tenant', 'administration', 'not-ready'] },
  aggregator: 'min',
});
