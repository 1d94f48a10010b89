/**
 * Metrics of the RBAC index and of its verification. Each worker has its own index: of the workers the
 * worst one counts.
 */
import { defineCounter, defineGauge, type LabelValues, OPEN } from '../../lib/metric.ts';

export const ACCESS_VERIFICATIONS = defineCounter({
  name: 'stonegate_access_verifications_total',
  help: 'Decisions of the RBAC index drawn to be compared with the API server, by result.',
  labels: {
    /** `docs/reference/metrics.md` explains each. */
    result: ['agreed', 'settled', 'otherAuthorizer', 'differed', 'unknown', 'failed', 'dropped'],
  },
});
export type VerificationResult = LabelValues<typeof ACCESS_VERIFICATIONS.labels>['result'];

export const INDEX_OBJECTS = defineGauge({
  name: 'stonegate_rbac_index_objects',
  help: 'Objects in the RBAC index, by resource.',
  labels: { resource: OPEN },
  aggregator: 'max',
});

function gauge(name: string, aggregator: 'max' | 'min', help: string) {
  return defineGauge({ name: `stonegate_rbac_index_${name}`, help, labels: {}, aggregator, initial: 0 });
}

export const INDEX_BYTES = gauge(
  'bytes',
  'max',
  'Bytes that the objects in the RBAC index take, as they are estimated.',
);
export const INDEX_OFF = gauge(
  'off',
  'max',
  'Tenants for which the RBAC index is off, since their objects do not fit; 1 without tenants.',
);
export const INDEX_TOO_LARGE = gauge(
  'too_large',
  'max',
  'Roles and bindings whose rules or subjects are too large for the RBAC index.',
);
export const INDEX_REVISION = gauge(
  'revision',
  'min',
  'The revision through which the RBAC index is complete; 0 before the first sync.',
);
export const INDEX_SYNCED = gauge(
  'synced',
  'min',
  'Whether every resource of the RBAC index has been listed: 1 or 0; 0 without the index.',
);
