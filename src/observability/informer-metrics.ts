/**
 * Metrics of informers. Each worker has its own: of the workers the oldest one counts.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import {
  INFORMER_FAILURES,
  INFORMER_LIST_REASONS,
  type InformerMeasures,
  type InformerName,
  type Telemetry,
} from '../lib/telemetry.ts';

export function createInformerMetrics(
  registers: Registry[],
): Pick<Telemetry, 'informerListed' | 'informerFailed' | 'informersInForce'> {
  const lists = new Counter({
    name: 'stonegate_informer_lists_total',
    help: 'Lists of a resource by an informer, by reason.',
    labelNames: ['informer', 'resource', 'reason'],
    registers,
  });
  const failures = new Counter({
    name: 'stonegate_informer_failures_total',
    help: 'Lists and watches of informers that failed.',
    labelNames: ['informer', 'resource', 'failure'],
    registers,
  });
  const inForce = new Map<InformerName, () => readonly InformerMeasures[]>();
  new Gauge({
    name: 'stonegate_informer_age_seconds',
    help: 'Time since what an informer keeps was last known to be complete.',
    labelNames: ['informer', 'resource'],
    aggregator: 'max',
    registers,
    collect() {
      this.reset();
      // If there are several informers of one resource, the oldest one is set last.
      for (const [informer, read] of inForce)
        for (const { resource, ageSeconds } of read().toSorted(
          (one, other) => one.ageSeconds - other.ageSeconds,
        ))
          this.set({ informer, resource }, ageSeconds);
    },
  });
  return {
    informerListed: (informer, resource, reason) => lists.inc({ informer, resource, reason }),
    informerFailed: (informer, resource, failure) => failures.inc({ informer, resource, failure }),
    informersInForce(informer, read) {
      inForce.set(informer, read);
      // Prometheus computes no increase from the first value of a series: it has to be there before.
      for (const { resource } of read()) {
        for (const reason of INFORMER_LIST_REASONS) lists.inc({ informer, resource, reason }, 0);
        for (const failure of INFORMER_FAILURES) failures.inc({ informer, resource, failure }, 0);
      }
      return () => {
        if (inForce.get(informer) === read) inForce.delete(informer);
      };
    },
  };
}
