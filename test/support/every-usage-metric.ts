/** `/metrics/usage` of a process in which every measured event has happened once. */
import { UsageExposition } from '../../src/features/usage/usage-metrics.ts';
import { MEASURES } from '../../src/features/usage/usage-v1alpha1.ts';

export function everyUsageMetric() {
  const usage = Object.fromEntries(MEASURES.map((measure) => [measure, 1]));
  const part = { process: 'p1', projects: [{ tenant: 'acme', project: 'web', usage }] };
  return new UsageExposition().text(new Map([[0, part]]));
}
