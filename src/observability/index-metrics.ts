/**
 * Metrics of the RBAC index and of its verification. Each worker has its own index: of the workers the
 * worst one counts.
 */
import { Gauge, type Registry } from 'prom-client';
import { INDEXED_RESOURCES } from '../api/rbac-v1.ts';
import {
  INDEX_FAILURES,
  INDEX_LIST_REASONS,
  type IndexMeasures,
  type Telemetry,
  VERIFICATION_RESULTS,
} from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

export function createIndexMetrics(
  registers: Registry[],
): Pick<Telemetry, 'accessVerified' | 'indexListed' | 'indexFailed' | 'indexInForce'> {
  const lists = createCounter(registers, {
    name: 'stonegate_rbac_index_lists_total',
    help: 'Lists of a resource of the RBAC index, by reason.',
    labels: { resource: INDEXED_RESOURCES, reason: INDEX_LIST_REASONS },
  });
  const failures = createCounter(registers, {
    name: 'stonegate_rbac_index_failures_total',
    help: 'Lists and watches of the RBAC index that failed.',
    labels: { resource: INDEXED_RESOURCES, failure: INDEX_FAILURES },
  });
  const verifications = createCounter(registers, {
    name: 'stonegate_access_verifications_total',
    help: 'Decisions of the RBAC index drawn to be compared with the API server, by result.',
    labels: { result: VERIFICATION_RESULTS },
  });
  return {
    accessVerified: (result) => verifications.inc({ result }),
    indexListed: (resource, reason) => lists.inc({ resource, reason }),
    indexFailed: (resource, failure) => failures.inc({ resource, failure }),
    indexInForce: createIndexGauges(registers),
  };
}

function createIndexGauges(registers: Registry[]): Telemetry['indexInForce'] {
  let read: (() => IndexMeasures) | undefined;
  const byResource = (
    name: string,
    help: string,
    pick: (resource: IndexMeasures['resources'][number]) => number | undefined,
  ) =>
    new Gauge({
      name: `stonegate_rbac_index_${name}`,
      help,
      labelNames: ['resource'],
      aggregator: 'max',
      registers,
      collect() {
        this.reset();
        for (const measures of read?.().resources ?? []) {
          const value = pick(measures);
          if (value !== undefined) this.set({ resource: measures.resource }, value);
        }
      },
    });
  const gauge = (
    name: string,
    help: string,
    aggregator: 'max' | 'min',
    pick: (measures: IndexMeasures) => number,
  ) =>
    new Gauge({
      name: `stonegate_rbac_index_${name}`,
      help,
      aggregator,
      registers,
      collect() {
        this.set(read === undefined ? 0 : pick(read()));
      },
    });
  byResource(
    'age_seconds',
    'Time since the last proof that a resource of the RBAC index is current.',
    ({ ageSeconds }) => ageSeconds,
  );
  byResource('objects', 'Objects in the RBAC index, by resource.', ({ objects }) => objects);
  gauge(
    'bytes',
    'Bytes that the objects in the RBAC index take, as they are estimated.',
    'max',
    ({ bytes }) => bytes,
  );
  gauge(
    'off',
    'Tenants for which the RBAC index is off, since their objects do not fit; 1 without tenants.',
    'max',
    ({ tenantsOff }) => tenantsOff,
  );
  gauge(
    'too_large',
    'Roles and bindings whose rules or subjects are too large for the RBAC index.',
    'max',
    ({ tooLarge }) => tooLarge,
  );
  gauge(
    'revision',
    'The revision through which the RBAC index is complete; 0 before the first sync.',
    'min',
    ({ revision }) => revision,
  );
  gauge(
    'synced',
    'Whether every resource of the RBAC index has been listed: 1 or 0; 0 without the index.',
    'min',
    ({ synced }) => Number(synced),
  );
  return (source) => {
    read = source;
  };
}
