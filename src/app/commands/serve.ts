/**
 * `stonegate serve`: one process, or a primary with workers. With workers, the primary has the admin
 * listener and reports the readiness and metrics of all; each worker serves everything else.
 */

import cluster from 'node:cluster';
import { createCommand, EXIT, FLAG, UsageError, VALUE } from '../../cli/command.ts';
import { configurationError } from '../../cli/configuration-file.ts';
import { version } from '../../cli/version.ts';
import { systemSources } from '../../config/load.ts';
import { UsageExposition } from '../../features/usage/usage-metrics.ts';
import { systemClock } from '../../lib/clock.ts';
import { FileNotOpened } from '../../lib/file-errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import { createLogger } from '../../observability/log.ts';
import { aggregateMetrics } from '../../observability/metrics.ts';
import { createAdminListener } from '../../server/admin.ts';
import { AddressError } from '../../server/listen.ts';
import { onStopSignal } from '../../server/shutdown.ts';
import { servePrimary } from '../../server/worker-channel.ts';
import { WorkerStartError } from '../../server/worker-pool.ts';
import { runPrimary, workerCount } from '../../server/workers.ts';
import { admissionProgram } from '../admission-program.ts';
import { type App, createApp, type LoadedProcess, type Program, type Served } from '../app.ts';
import type {
  AdmissionProcessConfiguration,
  LoadedAdmission,
  LoadedStonegate,
  StonegateConfiguration,
} from '../configuration.ts';
import { limitGarbage } from '../garbage-collection.ts';
import { createProxyProgram } from '../proxy-program.ts';

const USAGE = `Usage: stonegate serve --config FILE [--keep] [--only admission]

Serves until SIGTERM or SIGINT. After SIGTERM it accepts requests for
\`server.drain\` more; SIGINT skips the rest of that. SIGHUP reads everything
anew, opens the audit log anew and empties this process' caches.

  --config FILE      the configuration
  --keep             leave roles, bindings and copies of policies and publishing
                     that the configuration does not have any more
  --only admission   serve the admission webhook and nothing else; of the
                     configuration only tenancy, admission, admin, log,
                     upstream, publishing and quota are read
  --help             this text

Exit codes: 0 ended in good order, 1 could not start, 2 wrong usage.
`;

const OPTIONS = {
  config: VALUE,
  keep: FLAG,
  only: { type: 'string', choices: ['admission'] },
} as const;

export const serve = createCommand({ usage: USAGE, options: OPTIONS }, async ({ values }) => {
  const { config: file, keep = false, only } = values;
  if (file === undefined) throw new UsageError('--config FILE is required');
  if (only !== undefined) return start(file, admissionProgram, serveAlone);
  return start(file, createProxyProgram({ keep }), serveAll);
});

interface Starting<L> {
  readonly loaded: L;
  readonly logger: Logger;
  /** @param onStep called with each step before it begins */
  startApp(onStep: (step: string) => void): Promise<App>;
}

/** Resolves when everything is closed. */
async function start<L extends LoadedProcess, S extends Served>(
  file: string,
  program: Program<L, S>,
  run: (starting: Starting<L>) => Promise<void>,
): Promise<number> {
  const logger = createLogger('info');
  const result = await program.load(file, systemSources);
  if (!result.ok) throw configurationError(file, result.problems);
  const { loaded, watched } = result;
  logger.setLevel(loaded.configuration.log.level);
  const options = { file, loaded, watched, sources: systemSources, logger };
  try {
    await run({ loaded, logger, startApp: (onStep) => createApp(program, { ...options, onStep }) });
    return EXIT.fine;
  } catch (error) {
    // An operator can correct these; any other error is logged with its stack.
    if (error instanceof AddressError || error instanceof FileNotOpened || error instanceof WorkerStartError)
      logger.error({}, `Stonegate could not be started: ${error.message}`);
    else logger.error({ error }, 'Stonegate could not be started');
    return EXIT.failed;
  }
}

function serveAll(starting: Starting<LoadedStonegate>): Promise<void> {
  limitGarbage();
  if (cluster.isWorker) return runAsWorker(starting);
  const { workers } = starting.loaded.configuration.server;
  return workerCount(workers) > 1 ? runAsPrimary(starting, workers) : serveAlone(starting);
}

/** One process with its own admin listener. */
async function serveAlone({
  loaded,
  logger,
  startApp,
}: Starting<LoadedStonegate | LoadedAdmission>): Promise<void> {
  const { bind } = loaded.configuration.admin;
  const usage = usageExposition(loaded.configuration);
  let app: App | undefined;
  let step = 'starting';
  // The first step, as with workers: if its address is taken, no component has started or logged anything.
  const admin = await createAdminListener({
    bind,
    readiness: () => app?.readiness() ?? [{ name: 'start', reason: step }],
    metrics: async () => app?.metrics.text() ?? '',
    usage: usage && (() => usage.text(new Map([[0, app?.usage() ?? {}]]))),
    version: await version(),
    random: systemRandom,
    logger,
  });
  try {
    app = await startApp((next) => {
      step = next;
    });
    logger.info({ ...addressesOf(app), admin: admin.address, digest: loaded.digest }, 'serving');
    await untilStopped(app, logger);
  } finally {
    await admin.close();
  }
}

async function runAsWorker({ loaded, logger, startApp }: Starting<LoadedStonegate>): Promise<void> {
  try {
    const app = await startApp(() => {});
    const { metrics, readiness, usage } = app;
    const report = async () => ({ readiness: readiness(), metrics: await metrics.json(), usage: usage() });
    servePrimary(process, report, logger);
    logger.info({ ...addressesOf(app), worker: cluster.worker?.id, digest: loaded.digest }, 'serving');
    await untilStopped(app, logger);
  } finally {
    // The channel to the primary would hold the process. Closed by the worker itself, it leaves the exit
    // code alone.
    cluster.worker?.disconnect();
  }
}

/** The log has the API's address as `address`. */
function addressesOf({ addresses: { api, ...others } }: App): object {
  return { ...(api && { address: api }), ...others };
}

async function runAsPrimary(
  { loaded, logger }: Starting<LoadedStonegate>,
  workers: number | 'auto',
): Promise<void> {
  const { admin, server } = loaded.configuration;
  const usage = usageExposition(loaded.configuration);
  process.stdout.on('error', (error) => logger.error({ error }, 'standard output cannot be written'));
  const primary = await runPrimary({
    version: await version(),
    workers,
    admin,
    aggregate: aggregateMetrics,
    usage: usage && ((parts) => usage.text(parts)),
    drain: server.drain,
    grace: server.shutdownGrace,
    signals: process,
    output: process.stdout,
    clock: systemClock,
    random: systemRandom,
    logger,
  });
  logger.info({ admin: primary.admin, port: primary.port, workers: workerCount(workers) }, 'serving');
  await primary.stopped;
}

/** @returns undefined if `/metrics/usage` is off */
function usageExposition(
  configuration: StonegateConfiguration | AdmissionProcessConfiguration,
): UsageExposition | undefined {
  return 'usage' in configuration && configuration.usage?.metrics ? new UsageExposition() : undefined;
}

/** Ends on the first stop signal. SIGINT ends a drain that SIGTERM has begun, but not the grace period. */
async function untilStopped(app: App, logger: Logger): Promise<void> {
  process.on('SIGHUP', () => {
    logger.info({}, 'SIGHUP: reloading');
    void app.reload();
  });
  await new Promise<void>((resolve) =>
    onStopSignal(process, (signal) => resolve(app.close(signal === 'SIGTERM'))),
  );
}
