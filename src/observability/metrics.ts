/**
 * Prometheus metrics. Label values come from closed sets, never from paths, users or addresses, so that
 * clients cannot create series; tenants are named, in a bounded number, where their quotas are nearly used
 * up. `docs/reference/metrics.md` lists all metrics; a test compares it with this file.
 * https://prometheus.io/docs/practices/naming/
 */
import { STATUS_CODES } from 'node:http';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { CODES, type ErrorCode } from '../errors/codes.ts';
import { LONG_RUNNING, type RequestInfo } from '../kubernetes/request-info.ts';
import {
  ADMISSION_RESULTS,
  RATE_LIMITS,
  RATE_RESULTS,
  REVIEW_KINDS,
  REVIEW_RESULTS,
  STREAM_END_REASONS,
  type Telemetry,
} from '../lib/telemetry.ts';
import { createControllerMetrics, createLimitsAge } from './controller-metrics.ts';
import { createCounter } from './counter.ts';
import { createIndexMetrics } from './index-metrics.ts';
import { createInformerMetrics } from './informer-metrics.ts';
import { createPolicyGauges } from './policy-metrics.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { createQuotaMetrics } from './quota-metrics.ts';
import type { ObservedRequest, RequestObserver } from './request-observer.ts';
import { Histogram, LabelledNumber } from './series.ts';

const VERBS: ReadonlySet<string> = new Set([
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'proxy'],
  ...['post', 'put', 'head', 'options'],
]);
/** HTTP status codes as strings, and 0 for requests without a response. */
const STATUSES: ReadonlyMap<number, string> = new Map(
  ['0', ...Object.keys(STATUS_CODES)].map((status) => [Number(status), status]),
);
/**
 * Interval in milliseconds at which the event loop delay is sampled; a short one would wake an idle process.
 */
const LOOP_SAMPLING_MS = 10_000;
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface Metrics extends Telemetry, RequestObserver {
  /** All metrics of this process in the text format. */
  text(): Promise<string>;
  /** All metrics as JSON, for the process that aggregates its workers. */
  json(): Promise<object[]>;
  auditEventLost(): void;
  /** Whether the audit log cannot be written at the moment. */
  auditLogFailing(failing: boolean): void;
}

/**
 * @param now milliseconds since the epoch
 * @param version of Stonegate
 */
export function createMetrics(now: () => number, version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLING_MS });
  const requests = new LabelledNumber({
    type: 'counter',
    name: 'stonegate_requests_total',
    help: 'Requests by verb, authenticator and HTTP status of the response.',
    labels: ['verb', 'authenticator', 'status'],
  });
  const refusals = createCounter(registers, {
    name: 'stonegate_refusals_total',
    help: 'Requests that Stonegate itself refused, by error code.',
    labels: { code: Object.keys(CODES) },
  });
  const duration = new Histogram(
    {
      name: 'stonegate_request_duration_seconds',
      help: 'Time until the end of the response, without long-running requests.',
      labels: ['verb'],
    },
    SECONDS,
  );
  const active = new LabelledNumber({
    type: 'gauge',
    name: 'stonegate_requests_active',
    help: 'Requests in flight whose user is authenticated, by kind.',
    labels: ['kind'],
  });
  const cache = new LabelledNumber({
    type: 'counter',
    name: 'stonegate_cache_lookups_total',
    help: 'Lookups in each tier of the cache.',
    labels: ['tier', 'result'],
  });
  const backend = new Histogram(
    {
      name: 'stonegate_backend_duration_seconds',
      help: 'Calls to Keystone, OIDC issuers, Redis and the API server; for the API server until the response begins.',
      labels: ['backend', 'result'],
    },
    SECONDS,
  );
  const hot = [requests, duration, active, cache, backend];
  const limited = createCounter(registers, {
    name: 'stonegate_unknown_credentials_limited_total',
    help: 'Unknown credentials refused before a backend was called.',
    labels: { reason: ['source', 'total'] },
  });
  const rateLimited = createCounter(registers, {
    name: 'stonegate_rate_limited_total',
    help: 'Requests beyond a rate of a tenant or a user: refused, or let through in shadow mode.',
    labels: { limit: RATE_LIMITS, result: RATE_RESULTS },
  });
  const rateShares = new Gauge({
    name: 'stonegate_rate_shares_in_force',
    help: 'Whether the process admits its own share of the rates, without Redis: 1 or 0.',
    aggregator: 'max',
    registers,
  });
  const reviews = createCounter(registers, {
    name: 'stonegate_webhook_reviews_total',
    help: 'Reviews that API servers posted to the webhook, by kind and result.',
    labels: { kind: REVIEW_KINDS, result: REVIEW_RESULTS },
  });
  const admissions = createCounter(registers, {
    name: 'stonegate_admission_reviews_total',
    help: 'Reviews that API servers posted to the admission webhook, by result.',
    labels: { result: ADMISSION_RESULTS },
  });
  const index = createIndexMetrics(registers);
  const ended = createCounter(registers, {
    name: 'stonegate_streams_ended_total',
    help: 'Long-running requests that Stonegate ended before the client or the API server did.',
    labels: { kind: LONG_RUNNING, reason: STREAM_END_REASONS },
  });
  const auditLost = new Counter({
    name: 'stonegate_audit_events_lost_total',
    help: 'Audit events that could not be written.',
    registers,
  });
  const auditFailing = new Gauge({
    name: 'stonegate_audit_log_failing',
    help: 'Whether the audit log cannot be written at the moment: 1 or 0.',
    aggregator: 'max',
    registers,
  });

  return {
    requestReceived: (record) => active.add(1, kindOf(record.info)),
    responseStarted() {},
    responseComplete(record) {
      active.add(-1, kindOf(record.info));
      const verb = verbOf(record);
      requests.add(1, verb, record.identity?.authenticator ?? 'none', statusOf(record));
      const code: ErrorCode | undefined = record.outcome?.code;
      if (code !== undefined) refusals.inc({ code });
      if (record.info?.longRunning === undefined) {
        duration.observe(Math.max(0, now() - record.receivedAt) / 1000, verb);
      }
    },
    cacheLookup: (tier, result) => cache.add(1, tier, result),
    backendCall: (name, result, seconds) => backend.observe(seconds, name, result),
    rateLimited: (limit, result) => rateLimited.inc({ limit, result }),
    rateSharesInForce: (inForce) => rateShares.set(inForce ? 1 : 0),
    unknownCredentialLimited: (reason) => limited.inc({ reason }),
    webhookReview: (kind, result) => reviews.inc({ kind, result }),
    admissionReview: (result) => admissions.inc({ result }),
    ...createControllerMetrics(registers, now),
    streamEnded: (kind, reason) => ended.inc({ kind, reason }),
    ...index,
    ...createInformerMetrics(registers),
    policiesInForce: createPolicyGauges(registers),
    keystoneLimitsInUse: createLimitsAge(registers),
    ...createQuotaMetrics(registers),
    ...createProcessMetrics(registers, version),
    auditEventLost: () => auditLost.inc(),
    auditLogFailing: (failing) => auditFailing.set(failing ? 1 : 0),
    async text() {
      const counted = hot.map((metric) => metric.document());
      return `${await registry.metrics()}\n${await aggregateMetrics([counted])}`;
    },
    json: async () => [...(await registry.getMetricsAsJSON()), ...hot.map((metric) => metric.document())],
  };
}

/** Aggregates the `json()` of all workers; counters and histograms are summed. */
export async function aggregateMetrics(documents: readonly object[]): Promise<string> {
  return AggregatorRegistry.aggregate([...documents]).metrics();
}

function verbOf({ info, exchange }: ObservedRequest): string {
  const verb = info?.verb ?? exchange.method.toLowerCase();
  return VERBS.has(verb) ? verb : 'other';
}

/** Workloads behind the API server may respond with any status. */
function statusOf({ outcome }: ObservedRequest): string {
  return STATUSES.get(outcome?.status ?? 0) ?? 'other';
}

function kindOf(info: RequestInfo | undefined): string {
  return info?.longRunning ?? 'short';
}
