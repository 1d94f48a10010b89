/**
 * Metrics of the RBAC index and of its verification. Each worker has its own index: of the workers the
 * worst one counts.
 */
import { Gauge, type Registry } from 'prom-client';
import { type IndexMeasures, type Telemetry, VERIFICATION_RESULTS } from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

export function createIndexMetrics(
  registers: Registry[],
): Pick<Telemetry, 'accessVerified' | 'indexInForce'> {
  const verifications = createCounter(registers, {
    name: 'stonegate_access_verifications_total',
    help: 'Decisions of the RBAC index drawn to be compared with the API server, by result.',
    labels: { result: VERIFICATION_RESULTS },
  });
  return {
    accessVerified: (result) => verifications.inc({ result }),
    indexInForce: createIndexGauges(registers),
  };
}

function createIndexGauges(registers: Registry[]): Telemetry['indexInForce'] {
  let read: (() => IndexMeasures) | undefined;
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
