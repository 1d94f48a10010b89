/**
 * The metrics of a process: those of its requests, and what others define. Label values come from closed
 * sets, never from paths, users or addresses; tenants are named, in a bounded number, where their quotas are
 * nearly used up. `docs/reference/metrics.md` lists all metrics.
 */
import { STATUS_CODES } from 'node:http';
import { AggregatorRegistry } from 'prom-client';
import { CODES, type ErrorCode } from '../errors/codes.ts';
import type { RequestInfo } from '../kubernetes/request-info.ts';
import { defineCounter, defineGauge, type MetricDefinition, OPEN } from '../lib/metric.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { createMetricRegistry } from './metric-registry.ts';
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
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const REFUSALS = defineCounter({
  name: 'stonegate_refusals_total',
  help: 'Requests that Stonegate itself refused, by error code.',
  labels: { code: Object.keys(CODES) },
});
const BUILD = defineGauge({
  name: 'stonegate_build_info',
  help: 'Always 1, with the versions of Stonegate and of Node.',
  labels: { version: OPEN, node_version: OPEN },
  aggregator: 'max',
});

export interface Metrics extends Telemetry, RequestObserver {
  /** All metrics of this process in the text format. */
  text(): Promise<string>;
  /** All metrics as JSON, for the process that aggregates its workers. */
  json(): Promise<object[]>;
}

/**
 * @param definitions all metrics that are counted, set or measured
 * @param now milliseconds since the epoch
 * @param version of Stonegate
 */
export function createMetrics(
  definitions: readonly MetricDefinition[],
  now: () => number,
  version: string,
): Metrics {
  const { prometheus, ...telemetry } = createMetricRegistry([BUILD, REFUSALS, ...definitions]);
  telemetry.set(BUILD, { version, node_version: process.versions.node }, 1);
  const requests = new LabelledNumber({
    type: 'counter',
    name: 'stonegate_requests_total',
    help: 'Requests by verb, authenticator and HTTP status of the response.',
    labels: ['verb', 'authenticator', 'status'],
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

  return {
    requestReceived: (record) => active.add(1, kindOf(record.info)),
    responseStarted() {},
    responseComplete(record) {
      active.add(-1, kindOf(record.info));
      const verb = verbOf(record);
      requests.add(1, verb, record.identity?.authenticator ?? 'none', statusOf(record));
      const code: ErrorCode | undefined = record.outcome?.code;
      if (code !== undefined) telemetry.count(REFUSALS, { code });
      if (record.info?.longRunning === undefined) {
        duration.observe(Math.max(0, now() - record.receivedAt) / 1000, verb);
      }
    },
    cacheLookup: (tier, result) => cache.add(1, tier, result),
    backendCall: (name, result, seconds) => backend.observe(seconds, name, result),
    ...telemetry,
    async text() {
      const counted = hot.map((metric) => metric.document());
      return `${await prometheus.metrics()}\n${await aggregateMetrics([counted])}`;
    },
    json: async () => [...(await prometheus.getMetricsAsJSON()), ...hot.map((metric) => metric.document())],
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
