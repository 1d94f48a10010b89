/**
 * The program of a process that serves everything: the API, and the portal and the webhooks at addresses of
 * their own. What a configuration describes is built in `serving.ts`; what outlives all configurations is
 * created here.
 */

import { modeProblem } from '../features/served-mode.ts';
import { type ApiServerProbe, createApiServerProbe } from '../kubernetes/api-server-probe.ts';
import { ResponseMemory } from '../limits/response-memory.ts';
import { type AuditFile, createAuditFile } from '../observability/audit-file.ts';
import { AUDIT_EVENTS_LOST, AUDIT_LOG_FAILING, createAuditLog } from '../observability/audit-log.ts';
import { createRequestLog, observeAll } from '../observability/request-observers.ts';
import { StreamLifetimes } from '../proxy/streams/stream-lifetimes.ts';
import { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import type { OpenProgram, Program, ProgramStart } from './app.ts';
import { createMembershipLog, createPortalState } from './build-features.ts';
import { type LoadedStonegate, loadStonegate } from './configuration.ts';
import { type OpenUsage, openUsage } from './open-usage.ts';
import { createServing, type Serving, type ServingProcess } from './serving.ts';

export interface ProxyOptions {
  /** Whether what Stonegate made for a feature stays if the configuration does not have it any more. */
  readonly keep?: boolean;
}

export function createProxyProgram({ keep = false }: ProxyOptions = {}): Program<LoadedStonegate, Serving> {
  return { load: loadStonegate, open: (start) => open(start, keep) };
}

/** Milliseconds between two probes of the API server. */
const PROBE_INTERVAL = 10_000;

type ProxyStart = ProgramStart<LoadedStonegate, Serving>;

async function open(start: ProxyStart, keep: boolean): Promise<OpenProgram<LoadedStonegate, Serving>> {
  const { runtime, generations } = start;
  const { server, limits } = start.loaded.configuration;
  const audit = await openAudit(start);
  const usage = await openUsageOf(start, audit);
  const streams = new StreamRegistry({ ...runtime, limits: limits.streams });
  const serving = { ...createServingState(start, audit, usage), streams, keep };
  const probe = createProbe(start);
  let lifetimes: StreamLifetimes | undefined;
  return {
    drain: server.drain,
    grace: server.shutdownGrace,
    build: (next, generation) => createServing({ loaded: next, runtime, generation }, serving),
    applied(next) {
      const settings = next.configuration.limits.streams;
      const { drops } = generations.current;
      streams.limits = settings;
      if (lifetimes !== undefined) lifetimes.reloaded(settings, drops);
      else
        lifetimes = new StreamLifetimes({
          ...runtime,
          registry: streams,
          settings,
          drops,
          recheck: (credential) => generations.current.recheck(credential),
          permits: (stream, now) => generations.current.permits(stream, now),
        });
    },
    started: () => probe.start(),
    checks: () => [probe, ...generations.current.checks],
    usage: () => usage?.current(),
    reopen() {
      generations.current.clear();
      audit.reopen();
      usage?.reopen();
    },
    afterwards: [
      { name: 'probe', close: () => probe.stop() },
      { name: 'streams', close: () => lifetimes?.stop() },
      // The last records of usage contain what pods request, which one of the components counts.
      { name: 'usage', close: async () => usage?.close() },
      { name: 'components', close: () => generations.close() },
      { name: 'audit', close: () => audit.close() },
    ],
  };
}

function openAudit({ loaded, runtime, onStep }: ProxyStart): Promise<AuditFile> {
  const { file } = loaded.configuration.audit;
  const { telemetry } = runtime;
  onStep(`opening audit.file ${file}`);
  return createAuditFile({
    ...runtime,
    file,
    content: 'audit events',
    lost: () => telemetry.count(AUDIT_EVENTS_LOST, {}),
    failing: (failing) => telemetry.set(AUDIT_LOG_FAILING, {}, failing ? 1 : 0),
  });
}

async function openUsageOf(
  { loaded, runtime, generations, onStep }: ProxyStart,
  sink: AuditFile,
): Promise<OpenUsage | undefined> {
  const { usage, audit } = loaded.configuration;
  if (usage === undefined) return undefined;
  onStep(`opening usage.records ${usage.records}`);
  const requested = () => (generations.isInForce ? generations.current.requested() : []);
  return openUsage(usage, { file: audit.file, sink }, runtime, requested);
}

function createServingState(
  { loaded, runtime, metrics, generations }: ProxyStart,
  sink: AuditFile,
  usage: OpenUsage | undefined,
): Omit<ServingProcess, 'streams' | 'keep'> {
  const { configuration } = loaded;
  const { clock, logger } = runtime;
  const observers = [createAuditLog({ sink, clock }), metrics, createRequestLog(logger, clock)];
  return {
    observer: observeAll([...observers, ...(usage ? [usage.observer] : [])], logger),
    startedAt: clock.now(),
    responseMemory: new ResponseMemory(),
    // Pages of the portal are no usage of the cluster.
    portal: configuration.portal && createPortalState(runtime, observeAll(observers, logger)),
    hasWebhook: configuration.webhook !== undefined,
    inForce: () => generations.current,
    memberships: createMembershipLog({ ...runtime, sink }),
  };
}

function createProbe({ loaded, runtime, generations }: ProxyStart): ApiServerProbe {
  const { logger } = runtime;
  const fetcher = () => generations.current.upstream;

  /** A mode for another kind of API server makes every request fail, and nothing else reports the cause. */
  async function warnOfMode(signal: AbortSignal): Promise<void> {
    try {
      const problem = await modeProblem(loaded.configuration.tenancy, fetcher(), signal);
      if (problem !== undefined) logger.warn({}, `tenancy.mode: ${problem}`);
    } catch (error) {
      if (!signal.aborted) logger.warn({ error }, 'the API server could not be asked for its tenancy mode');
    }
  }

  const onReady = (signal: AbortSignal) => void warnOfMode(signal);
  return createApiServerProbe({ ...runtime, fetcher, onReady, interval: PROBE_INTERVAL });
}
