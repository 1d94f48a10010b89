/**
 * One serving state: its start, its reloads and its end. What a configuration describes is built in
 * `serving.ts`; what outlives all configurations is created here.
 */

import type { AddressInfo } from 'node:net';
import { version } from '../cli/version.ts';
import type { RuntimeDependencies } from '../config/build.ts';
import { createCertificateReport } from '../config/certificate-periods.ts';
import { Generations } from '../config/generation.ts';
import type { LoadSources, Watched } from '../config/load.ts';
import { createReloader } from '../config/reload.ts';
import { modeProblem } from '../features/served-mode.ts';
import type { ProcessUsage } from '../features/usage/usage-metrics.ts';
import { createApiServerProbe } from '../kubernetes/api-server-probe.ts';
import type { UpstreamFetcher } from '../kubernetes/upstream-ports.ts';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { ResponseMemory } from '../limits/response-memory.ts';
import { type AuditFile, createAuditFile } from '../observability/audit-file.ts';
import { AUDIT_EVENTS_LOST, AUDIT_LOG_FAILING, createAuditLog } from '../observability/audit-log.ts';
import type { createLogger } from '../observability/log.ts';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import { createRequestLog, observeAll } from '../observability/request-observers.ts';
import { StreamLifetimes } from '../proxy/streams/stream-lifetimes.ts';
import { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import { type Readiness, readinessOf } from '../server/admin.ts';
import { createShutdown } from '../server/shutdown.ts';
import { createMembershipLog, createPortalState } from './build-features.ts';
import { type LoadedStonegate, loadStonegate, type StonegateConfiguration } from './configuration.ts';
import { type Addresses, createListeners, type Listeners } from './listeners.ts';
import { METRICS } from './metrics.ts';
import { type OpenUsage, openUsage } from './open-usage.ts';
import { warnOfRestart } from './restart-fields.ts';
import { createServing, type Serving, type ServingProcess } from './serving.ts';

export interface AppOptions {
  readonly file: string;
  readonly loaded: LoadedStonegate;
  readonly watched: Watched;
  readonly sources: LoadSources;
  readonly logger: ReturnType<typeof createLogger>;
  /** Whether roles and bindings of features that are switched off stay. */
  readonly keep?: boolean;
  /** Called with each step of the start before it begins: a step may never end. */
  readonly onStep?: (step: string) => void;
}

/** Either everything, or the admission webhook alone, as one process serves it. */
export interface ServingApp {
  /** The address of its first listener. */
  readonly address: AddressInfo;
  readonly metrics: Metrics;
  /** Undefined if usage is off. */
  usage?(): ProcessUsage | undefined;
  readiness(): Readiness[];
  /** Reads all files again, and opens the audit log again and clears the caches, as far as there are any. */
  reload(): Promise<void>;
  /**
   * Shuts down in order; resolves when everything is closed.
   *
   * @param drain whether requests are accepted for a while before; if not, a drain that has begun ends
   */
  close(drain?: boolean): Promise<void>;
}

export interface App extends ServingApp {
  readonly addresses: Addresses;
  usage(): ProcessUsage | undefined;
  /** How many generations and components are not disposed. */
  readonly counts: Generations<Serving>['counts'];
}

/** Milliseconds between two probes of the API server. */
const PROBE_INTERVAL = 10_000;

/** @throws Error if an address is taken, or the audit file cannot be opened */
export async function createApp(options: AppOptions): Promise<App> {
  const { loaded, logger } = options;
  const { server } = loaded.configuration;
  const state = await openProcess(options);
  const { runtime, metrics, audit, usage, generations } = state;
  const opened = await openListeners(state, options);
  const { listeners, lifetimes } = opened;
  generations.start();
  warn(state);
  const fetcher = () => generations.current.upstream;
  const onReady = (signal: AbortSignal) => void warnOfMode(loaded, fetcher(), logger, signal);
  const probe = createApiServerProbe({ ...runtime, fetcher, onReady, interval: PROBE_INTERVAL });
  probe.start();
  const reloader = createReloader({
    ...runtime,
    ...options,
    load: loadStonegate,
    apply: (next) => apply(next, loaded.configuration, state, opened),
  });
  const shutdown = createShutdown({
    listener: listeners,
    drain: server.drain,
    grace: server.shutdownGrace,
    afterwards: [
      { name: 'reloader', close: () => reloader.close() },
      { name: 'probe', close: () => probe.stop() },
      { name: 'streams', close: () => lifetimes.stop() },
      // The last records say what pods request, as long as a component counts it.
      { name: 'usage', close: async () => usage?.close() },
      { name: 'components', close: () => generations.close() },
      { name: 'audit', close: () => audit.close() },
    ],
    clock: systemClock,
    logger,
  });
  return {
    address: listeners.addresses.api,
    addresses: listeners.addresses,
    metrics,
    usage: () => usage?.current(),
    get counts() {
      return generations.counts;
    },
    readiness: () => readinessOf([shutdown.check, probe, ...generations.current.checks]),
    async reload() {
      generations.current.clear();
      audit.reopen();
      usage?.reopen();
      await reloader.reload();
    },
    close: (drain = false) => shutdown.begin(drain),
  };
}

/** What outlives all configurations. */
interface ProcessState {
  readonly runtime: RuntimeDependencies;
  readonly logger: AppOptions['logger'];
  readonly metrics: Metrics;
  readonly audit: AuditFile;
  readonly usage: OpenUsage | undefined;
  readonly streams: StreamRegistry;
  readonly generations: Generations<Serving>;
  /** Called after each reload. */
  reportCertificates(loaded: LoadedStonegate): void;
  /** Builds what the configuration describes, in place of what was in force. */
  replaceGeneration(next: LoadedStonegate): void;
}

async function openProcess({
  loaded,
  logger,
  keep = false,
  onStep = () => {},
}: AppOptions): Promise<ProcessState> {
  const { configuration } = loaded;
  const metrics = createMetrics(METRICS, () => systemClock.now(), await version());
  const runtime = { clock: systemClock, random: systemRandom, logger, telemetry: metrics };
  const reportCertificates = createCertificateReport(runtime);
  reportCertificates(loaded);
  const { file } = configuration.audit;
  onStep(`opening audit.file ${file}`);
  const audit = await createAuditFile({
    ...runtime,
    file,
    content: 'audit events',
    lost: () => metrics.count(AUDIT_EVENTS_LOST, {}),
    failing: (failing) => metrics.set(AUDIT_LOG_FAILING, {}, failing ? 1 : 0),
  });
  const auditLog = createAuditLog({ sink: audit, clock: systemClock });
  if (configuration.usage) onStep(`opening usage.records ${configuration.usage.records}`);
  const generations = new Generations<Serving>(logger);
  const requested = () => (generations.isInForce ? generations.current.requested() : []);
  const usage =
    configuration.usage && (await openUsage(configuration.usage, { file, sink: audit }, runtime, requested));
  const streams = new StreamRegistry({ ...runtime, limits: configuration.limits.streams });
  const observers = [auditLog, metrics, createRequestLog(logger, runtime.clock)];
  const serving: ServingProcess = {
    observer: observeAll([...observers, ...(usage ? [usage.observer] : [])], logger),
    startedAt: systemClock.now(),
    streams,
    responseMemory: new ResponseMemory(),
    // Pages of the portal are no usage of the cluster.
    portal: configuration.portal && createPortalState(runtime, observeAll(observers, logger)),
    hasWebhook: configuration.webhook !== undefined,
    inForce: () => generations.current,
    memberships: createMembershipLog({ ...runtime, sink: audit }),
    keep,
  };
  return {
    runtime,
    logger,
    metrics,
    audit,
    usage,
    streams,
    generations,
    reportCertificates,
    replaceGeneration: (next) =>
      generations.replace((generation) => createServing({ loaded: next, runtime, generation }, serving)),
  };
}

interface Opened {
  readonly listeners: Listeners;
  readonly lifetimes: StreamLifetimes;
}

/** The first generation, and what serves it. */
async function openListeners(state: ProcessState, options: AppOptions): Promise<Opened> {
  const { runtime, streams, generations, audit, usage } = state;
  const { loaded, onStep = () => {} } = options;
  try {
    state.replaceGeneration(loaded);
    const lifetimes = new StreamLifetimes({
      ...runtime,
      registry: streams,
      settings: loaded.configuration.limits.streams,
      drops: generations.current.drops,
      recheck: (credential) => generations.current.recheck(credential),
      permits: (stream, now) => generations.current.permits(stream, now),
    });
    const listeners = await createListeners(loaded, () => generations.current, runtime, onStep);
    return { listeners, lifetimes };
  } catch (error) {
    await Promise.all([generations.close(), usage?.close()]);
    await audit.close();
    throw error;
  }
}

/**
 * Everything that can fail comes before everything that has an effect. It is synchronous: no request is
 * served between.
 */
function apply(
  next: LoadedStonegate,
  started: StonegateConfiguration,
  state: ProcessState,
  { listeners, lifetimes }: Opened,
): void {
  const { logger, streams, generations } = state;
  const setTLS = listeners.prepareTLS(next);
  state.replaceGeneration(next);
  // Nothing after this line can fail.
  setTLS();
  streams.limits = next.configuration.limits.streams;
  lifetimes.reloaded(next.configuration.limits.streams, generations.current.drops);
  logger.setLevel(next.configuration.log.level);
  warn(state);
  warnOfRestart(started, next.configuration, logger);
  state.reportCertificates(next);
}

function warn({ generations, logger }: ProcessState): void {
  for (const warning of generations.current.warnings) logger.warn({}, warning);
}

/** A mode for another kind of API server makes every request fail, and nothing else tells. */
async function warnOfMode(
  { configuration }: LoadedStonegate,
  fetcher: UpstreamFetcher,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    const problem = await modeProblem(configuration.tenancy, fetcher, signal);
    if (problem !== undefined) logger.warn({}, `tenancy.mode: ${problem}`);
  } catch (error) {
    if (!signal.aborted) logger.warn({ error }, 'the API server could not be asked for its tenancy mode');
  }
}
