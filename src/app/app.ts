/**
 * The composition root of one serving process: listener, pipeline, audit, metrics, reload and shutdown put together.
 * Only here, in `adapters.ts` and in `pipeline-of.ts` are adapters built.
 */
import type { AddressInfo } from 'node:net';
import { createAuditLog } from '../audit/audit-log.ts';
import { createApiServerProbe } from '../clients/kube-apiserver.ts';
import { warnOfCertificates } from '../config/certificate-periods.ts';
import type { LoadedConfiguration, LoadSources, Watched } from '../config/load.ts';
import { createReloader, type Reloader } from '../config/reload.ts';
import { systemClock } from '../lib/clock.ts';
import { systemRandom } from '../lib/random.ts';
import { type AuditFile, createAuditFile } from '../observability/audit-file.ts';
import type { createLogger } from '../observability/log.ts';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import { createRequestLog, observeAll } from '../observability/request-observers.ts';
import type { RequestObserver } from '../pipeline/ports.ts';
import { type Readiness, readinessOf } from '../server/admin.ts';
import { createListener } from '../server/listener.ts';
import { createShutdown } from '../server/shutdown.ts';
import type { TLSMaterial } from '../server/tls-material.ts';
import { Adapters } from './adapters.ts';
import type { Surroundings } from './made-of.ts';
import { pipelineOf } from './pipeline-of.ts';
import { createProcessStreams } from './process-streams.ts';
import { startPortal } from './serve-portal.ts';
import { startWebhook } from './serve-webhook.ts';
import { ServedProvisioning } from './served-provisioning.ts';

export interface AppOptions {
  readonly file: string;
  readonly loaded: LoadedConfiguration;
  readonly watched: Watched;
  readonly sources: LoadSources;
  readonly logger: ReturnType<typeof createLogger>;
  /** Told of each thing that is waited for, before it begins: it may never come to its end. */
  readonly onStep?: (step: string) => void;
}

export interface App {
  readonly address: AddressInfo;
  /** Undefined without a portal. */
  readonly portalAddress: AddressInfo | undefined;
  /** Undefined without a webhook. */
  readonly webhookAddress: AddressInfo | undefined;
  readiness(): Readiness[];
  readonly metrics: Metrics;
  /** Reads everything anew, opens the audit log anew, and forgets what is cached in this process. */
  reload(): Promise<void>;
  /** Ends in good order; resolves when all is closed. */
  close(): Promise<void>;
}

/** Milliseconds between questions whether the API server is there. */
const PROBE_INTERVAL = 10_000;

/** @throws Error where the address is taken, or the audit file cannot be opened */
export async function createApp(options: AppOptions): Promise<App> {
  const { file, loaded, watched, sources, logger, onStep } = options;
  const metrics = createMetrics(() => systemClock.now());
  const surroundings: Surroundings = {
    clock: systemClock,
    random: systemRandom,
    logger,
    telemetry: metrics,
  };
  const { configuration } = loaded;
  warnOfCertificates(loaded, surroundings);
  onStep?.(`opening audit.file ${configuration.audit.file}`);
  const audit = await createAuditFile({
    ...surroundings,
    file: configuration.audit.file,
    lost: () => metrics.auditEventLost(),
  });
  const adapters = new Adapters(surroundings);
  const observer = observerOf(audit, metrics, surroundings);
  const provisioning = new ServedProvisioning(surroundings, adapters);
  const streams = createProcessStreams(loaded, adapters, surroundings, (credential) =>
    current.recheck(credential),
  );
  const build = (next: LoadedConfiguration) =>
    pipelineOf(next, adapters, surroundings, observer, streams.registry, provisioning.prepare(next));
  let current = build(loaded);
  /** When no request is undecided in a pipeline that was replaced. */
  let former: Promise<unknown> = Promise.resolve();

  const giveUp = () => Promise.all([provisioning.close(), adapters.close(), audit.close()]);
  onStep?.(`listening at server.bind ${configuration.server.bind}`);
  const listener = await createListener({
    ...surroundings,
    ...configuration.server,
    tls: tlsOf(loaded),
    serve: (exchange) => current.serve(exchange),
  }).catch(async (error: unknown) => {
    await giveUp();
    throw error;
  });
  onStep?.('listening at portal.bind');
  const portal = await startPortal(loaded, current.stages, adapters, surroundings).catch(
    async (error: unknown) => {
      await listener.close(0);
      await giveUp();
      throw error;
    },
  );
  onStep?.('listening at webhook.bind');
  const webhook = await startWebhook(loaded, current.stages, adapters, surroundings).catch(
    async (error: unknown) => {
      await Promise.all([listener.close(0), portal?.close(0)]);
      await giveUp();
      throw error;
    },
  );
  /** Whatever is prepared before it is in force, in this order: the later ask the earlier. */
  const parts = [adapters, provisioning, portal, webhook].filter((part) => part !== undefined);
  for (const part of parts) part.commit();
  const fetcher = () => adapters.upstreamInForce;
  const probe = createApiServerProbe({ ...surroundings, fetcher, interval: PROBE_INTERVAL });
  probe.start();

  /** Everything that can fail comes before anything that has an effect on what is in force. */
  function apply(next: LoadedConfiguration): void {
    const bringIntoForce = prepare(next);
    sayWhatNeedsRestart(configuration, next.configuration, logger);
    // A part may serve several pipelines, the portal and the webhook: it is ended after the last of them.
    former = Promise.all([former, current.undecided.drained(), portal?.ended(), webhook?.ended()]);
    bringIntoForce();
    warnOfCertificates(next, surroundings);
    const ends = [provisioning.former(), adapters.former()];
    void former
      .then(() => Promise.all(ends.map((end) => end())))
      .catch((error: unknown) => {
        logger.error({ error }, 'ending replaced parts failed');
      });
  }

  /**
   * @returns brings it into force; never throws
   * @throws Error where some part of it cannot be made; nothing of it is left then, and all in force is as it was
   */
  function prepare(next: LoadedConfiguration): () => void {
    try {
      const setTLS = listener.prepareTLS(tlsOf(next));
      const setStreams = streams.prepare(next);
      const built = build(next);
      portal?.prepare(next, built.stages);
      webhook?.prepare(next, built.stages);
      return () => {
        setTLS();
        current = built;
        for (const part of parts) part.commit();
        setStreams();
        logger.setLevel(next.configuration.log.level);
      };
    } catch (error) {
      Promise.all(parts.map((part) => part.rollback())).catch((failure: unknown) => {
        logger.error({ error: failure }, 'ending what was prepared failed');
      });
      throw error;
    }
  }

  const reloader: Reloader = createReloader({ ...surroundings, file, sources, watched, apply });
  const shutdown = createShutdown({
    listener: {
      close: async (grace) => {
        await Promise.all([listener.close(grace), portal?.close(grace), webhook?.close(grace)]);
      },
    },
    grace: configuration.server.shutdownGrace,
    afterwards: [
      { name: 'reloader', close: () => reloader.close() },
      { name: 'probe', close: () => probe.stop() },
      { name: 'streams', close: () => streams.stop() },
      { name: 'provisioning', close: () => provisioning.close() },
      { name: 'adapters', close: () => adapters.close() },
      { name: 'audit', close: () => audit.close() },
    ],
    logger,
  });

  return {
    address: listener.address,
    portalAddress: portal?.address,
    webhookAddress: webhook?.address,
    readiness: () => readinessOf([shutdown.check, probe, current.authentication, ...(webhook?.checks ?? [])]),
    metrics,
    async reload() {
      adapters.forget();
      audit.reopen();
      await reloader.reload();
    },
    close: () => shutdown.begin(),
  };
}

function observerOf(audit: AuditFile, metrics: Metrics, { clock, logger }: Surroundings): RequestObserver {
  return observeAll([createAuditLog({ sink: audit, clock }), metrics, createRequestLog(logger)], logger);
}

function tlsOf({ configuration, file }: LoadedConfiguration): TLSMaterial {
  const { certFile, keyFile, clientCAFile } = configuration.server.tls;
  const { clientCertificates } = configuration.authentication;
  const own = { cert: file(certFile), key: file(keyFile) };
  if (clientCertificates !== undefined) return { ...own, credentialCA: file(clientCertificates.caFile) };
  return clientCAFile === undefined ? own : { ...own, clientCA: file(clientCAFile) };
}

type Configuration = LoadedConfiguration['configuration'];

/** What the listener and the process were started with stays; saying so beats a change without effect. */
function sayWhatNeedsRestart(
  started: Configuration,
  next: Configuration,
  logger: Surroundings['logger'],
): void {
  const before = whatNeedsRestart(started);
  const after = whatNeedsRestart(next);
  const fields = Object.keys(before).filter((field) => before[field] !== after[field]);
  if (fields.length > 0) logger.warn({ fields }, 'these changes need a restart');
}

/** Each field with its value. */
function whatNeedsRestart({
  server,
  admin,
  audit,
  portal,
  webhook,
}: Configuration): Readonly<Record<string, unknown>> {
  return {
    'server.bind': server.bind,
    'server.http2': server.http2,
    'server.workers': server.workers,
    'server.shutdownGrace': server.shutdownGrace,
    'server.timeouts.header': server.timeouts.header,
    'server.timeouts.idle': server.timeouts.idle,
    'server.timeouts.stall': server.timeouts.stall,
    'server.limits.headerBytes': server.limits.headerBytes,
    'admin.bind': admin.bind,
    'audit.file': audit.file,
    'portal.bind': portal?.bind,
    'webhook.bind': webhook?.bind,
  };
}
