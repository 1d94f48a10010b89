/**
 * All metrics of a process that are defined as data: the core's and the features'.
 */
import { CERTIFICATE_ENDS } from '../config/certificate-periods.ts';
import { LAST_RELOAD, RELOADS } from '../config/reload.ts';
import { INFORMER_AGE, INFORMER_FAILED, INFORMER_LISTS } from '../kubernetes/informer-metrics.ts';
import { controllerMetrics } from '../kubernetes/reconcile/controller-metrics.ts';
import type { MetricDefinition } from '../lib/metric.ts';
import { UNKNOWN_CREDENTIALS_LIMITED } from '../limits/unknown-credential-gate.ts';
import { AUDIT_EVENTS_LOST, AUDIT_LOG_FAILING } from '../observability/audit-log.ts';
import { STREAMS_ENDED } from '../proxy/streams/stream-registry.ts';
import { CONNECTIONS_OPEN } from '../server/listener.ts';
import { DEFINITIONS } from './configuration.ts';

export const METRICS: readonly MetricDefinition[] = [
  ...[CONNECTIONS_OPEN, STREAMS_ENDED, UNKNOWN_CREDENTIALS_LIMITED],
  ...[RELOADS, LAST_RELOAD, CERTIFICATE_ENDS, AUDIT_EVENTS_LOST, AUDIT_LOG_FAILING],
  ...[INFORMER_LISTS, INFORMER_FAILED, INFORMER_AGE],
  ...controllerMetrics(DEFINITIONS.flatMap(({ controllers = [] }) => controllers)),
  ...DEFINITIONS.flatMap(({ metrics = [] }) => metrics),
];
