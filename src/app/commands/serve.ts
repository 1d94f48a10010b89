/**
 * `stonegate serve`: one process, or a primary with workers. With workers, the primary has the admin
 * listener and reports the readiness and metrics of all; each worker serves everything else.
 */
import cluster from 'node:cluster';
import { type CommandIO, EXIT, refuseWords, runCommand, UsageError } from '../../cli/command.ts';
import {
  type LoadedConfiguration,
  loadConfiguration,
  systemSources,
  type Watched,
} from '../../config/load.ts';
import { formatProblem } from '../../config/problem.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { createLogger } from '../../observability/log.ts';
import { aggregateMetrics } from '../../observability/metrics.ts';
import { createAdminListener } from '../../server/admin.ts';
import { onStopSignal } from '../../server/shutdown.ts';
import { servePrimary } from '../../server/worker-channel.ts';
import { runPrimary, workerCount } from '../../server/workers.ts';
import { type App, createApp } from '../app.ts';
import { limitGarbage } from '../garbage-collection.ts';
import { startFailure } from '../start-failure.ts';
import { exitAtOnce, StartLimit } from '../start-limit.ts';
import { serveAdmission } from './serve-admission.ts';

const USAGE = `Usage: stonegate serve --config FILE [--keep] [--only admission]

Serves until SIGTERM or SIGINT. After SIGTERM it accepts requests for \`server.drain\` more; SIGINT skips
the rest of that. SIGHUP reads everything anew, opens the audit log anew and empties this process' caches.

  --config FILE      the configuration
  --keep             leave roles, bindings and copies of policies and publishing that the configuration does not
                     have any more
  --only admission   serve the admission webhook and nothing else; of the configuration only tenancy,
                     admission, admin, log, upstream and publishing are read
  --help             this text

Exit codes: 0 ended in good order, 1 could not start, 2 wrong usage.
`;

type Logger = ReturnType<typeof createLogger>;

interface Started {
  readonly file: string;
  readonly loaded: LoadedConfiguration;
  readonly watched: Watched;
  readonly keep: boolean;
  readonly logger: Logger;
  readonly limit: StartLimit;
}

/**
 * Resolves when everything is closed.
 *
 * @param argv what follows `serve`
 */
export function serve(argv: readonly string[], io: CommandIO): Promise<number> {
  const options = {
    config: { type: 'string' },
    keep: { type: 'boolean' },
    only: { type: 'string' },
  } as const;
  return runCommand(
    { usage: USAGE, options, argv, io },
    async ({ config: file, keep, only }, positionals) => {
      refuseWords(positionals);
      if (file === undefined) throw new UsageError('--config FILE is required');
      if (only !== undefined && only !== 'admission') throw new UsageError('--only expects admission');
      if (only !== undefined) return serveAdmission(file, io);
      const logger = createLogger('info');
      const limit = new StartLimit({ clock: systemClock, logger, exit: exitAtOnce });
      limit.begin(`reading ${file} and the files it names`);
      const result = await loadConfiguration(file, systemSources);
      if (!result.ok) {
        for (const problem of result.problems) io.stderr(`${formatProblem(problem)}\n`);
        return EXIT.failed;
      }
      const { loaded, watched } = result;
      logger.setLevel(loaded.configuration.log.level);
      const started = { file, loaded, watched, logger, limit, keep: keep === true };
      try {
        await run(started);
        return EXIT.fine;
      } catch (error) {
        limit.end();
        const reason = startFailure(error, loaded.configuration);
        if (reason === undefined) logger.error({ error }, 'Stonegate could not be started');
        else logger.error({}, `Stonegate could not be started: ${reason}`);
        return EXIT.failed;
      }
    },
  );
}

function run(started: Started): Promise<void> {
  limitGarbage();
  if (cluster.isWorker) return runAsWorker(started);
  const { workers } = started.loaded.configuration.server;
  return workerCount(workers) === 1 ? runAlone(started) : runAsPrimary(started, workers);
}

async function runAlone(started: Started): Promise<void> {
  const { loaded, logger, limit } = started;
  const { bind } = loaded.configuration.admin;
  let app: App | undefined;
  // The first step, as with workers: if its address is taken, no component has started or logged anything.
  limit.begin(`listening at admin.bind ${bind}`);
  const admin = await createAdminListener({
    bind,
    readiness: () => app?.readiness() ?? [{ name: 'start', reason: limit.step }],
    metrics: async () => app?.metrics.text() ?? '',
    random: systemRandom,
    logger,
  });
  try {
    app = await startApp(started);
    logger.info({ ...addressesOf(app), admin: admin.address, digest: loaded.digest }, 'serving');
    await untilStopped(app, logger);
  } finally {
    await admin.close();
  }
}

async function runAsWorker(started: Started): Promise<void> {
  const { loaded, logger } = started;
  try {
    const app = await startApp(started);
    servePrimary(process, { readiness: () => app.readiness(), metrics: () => app.metrics.json() }, logger);
    logger.info({ ...addressesOf(app), worker: cluster.worker?.id, digest: loaded.digest }, 'serving');
    await untilStopped(app, logger);
  } finally {
    // The channel to the primary would hold the process. Closed by the worker itself, it leaves the exit
    // code alone.
    cluster.worker?.disconnect();
  }
}

async function startApp({ limit, ...started }: Started): Promise<App> {
  const app = await createApp({ ...started, sources: systemSources, onStep: (step) => limit.begin(step) });
  limit.end();
  return app;
}

function addressesOf({ address, portalAddress, webhookAddress, admissionAddress }: App): object {
  return {
    address,
    ...(portalAddress && { portal: portalAddress }),
    ...(webhookAddress && { webhook: webhookAddress }),
    ...(admissionAddress && { admission: admissionAddress }),
  };
}

async function runAsPrimary({ loaded, logger, limit }: Started, workers: number | 'auto'): Promise<void> {
  // From here on each worker has its own.
  limit.end();
  const { admin, server } = loaded.configuration;
  process.stdout.on('error', (error) => logger.error({ error }, 'standard output cannot be written'));
  const primary = await runPrimary({
    workers,
    admin,
    aggregate: aggregateMetrics,
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
