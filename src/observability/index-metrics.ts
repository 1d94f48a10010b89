/**
 * Metrics of the RBAC index and of its verification. Each worker has its own index: of the workers the
 * worst one counts.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { IndexMeasures, Telemetry } from '../lib/telemetry.ts';

export function createIndexMetrics(
  registers: Registry[],
): Pick<Telemetry, 'accessVerified' | 'indexListed' | 'indexFailed' | 'indexInForce'> {
  let read: (() => IndexMeasures) | undefined;
  const lists = new Counter({
    name: 'stonegate_rbac_index_lists_total',
    help: 'Lists of a resource of the RBAC index, by reason.',
    labelNames: ['resource', 'reason'],
    registers,
  });
  const failures = new Counter({
    name: 'stonegate_rbac_index_failures_total',
    help: 'Lists and watches of the RBAC index that failed.',
    labelNames: ['resource', 'failure'],
    registers,
  });
  new Gauge({
    name: 'stonegate_rbac_index_age_seconds',
    help: 'Time since the last proof that a resource of the RBAC index is current.',
    labelNames: ['resource'],
    aggregator: 'max',
    registers,
    collect() {
      this.reset();
      for (const { resource, ageSeconds } of read?.().resources ?? [])
        if (ageSeconds !== undefined) this.set({ resource }, ageSeconds);
    },
  });
  new Gauge({
    name: 'stonegate_rbac_index_objects',
    help: 'Objects in the RBAC index, by resource.',
    labelNames: ['resource'],
    aggregator: 'max',
    registers,
    collect() {
      this.reset();
      for (const { resource, objects } of read?.().resources ?? []) this.set({ resource }, objects);
    },
  });
  new Gauge({
    name: 'stonegate_rbac_index_left_out',
    help: 'Tenants, or namespaces without tenants, with more objects than the RBAC index holds of one.',
    aggregator: 'max',
    registers,
    collect() {
      this.set(read?.().leftOut ?? 0);
    },
  });
  new Gauge({
    name: 'stonegate_rbac_index_revision',
    help: 'The revision through which the RBAC index is complete; 0 before the first sync.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(read?.().revision ?? 0);
    },
  });
  new Gauge({
    name: 'stonegate_rbac_index_synced',
    help: 'Whether every resource of the RBAC index has been listed: 1 or 0; 0 without the index.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(read?.().synced ? 1 : 0);
    },
  });
  const verifications = new Counter({
    name: 'stonegate_access_verifications_total',
    help: 'Decisions of the RBAC index drawn to be compared with the API server, by result.',
    labelNames: ['result'],
    registers,
  });
  return {
    accessVerified: (result) => verifications.inc({ result }),
    indexListed: (resource, reason) => lists.inc({ resource, reason }),
    indexFailed: (resource, failure) => failures.inc({ resource, failure }),
    indexInForce(source) {
      read = source;
    },
  };
}
