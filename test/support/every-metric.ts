/** The metrics of a process in which every counted event has happened once. */
import { METRICS } from '../../src/app/metrics.ts';
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts';

export function everyMetric(now: () => number): Metrics {
  const metrics = createMetrics(METRICS, now, '1.2.3');
  metrics.cacheLookup('memory', 'hit');
  metrics.backendCall('keystone', 'ok', 0.02);
  for (const metric of METRICS) {
    const labels = Object.fromEntries(
      Object.entries(metric.labels).map(([label, [value = 'some']]) => [label, value]),
    );
    if (metric.type === 'counter') metrics.count(metric, labels);
    else metrics.set(metric, labels, 1);
  }
  return metrics;
}
