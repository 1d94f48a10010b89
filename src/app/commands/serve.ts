/**
 * `stonegate serve`: one process, or a primary with workers. With workers, the primary has the admin
 * listener and reports the readiness and metrics of all; each worker serves everything else.
 */
import cluster from 'node:cluster';
import { type CommandIO, refuseWords, runCommand, UsageError } from '../../cli/command.ts';
import { type LoadedConfiguration, loadConfiguration, systemSources } from '../../config/load.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { aggregateMetrics } from '../../observability/metrics.ts';
import { servePrimary } from '../../server/worker-channel.ts';
import { runPrimary, workerCount } from '../../server/workers.ts';
import { type App, createApp } from '../app.ts';
import { countBuffersWithHeap } from '../garbage-collection.ts';
import { serveAdmission } from './serve-admission.ts';
import { runWithAdmin, type Started, startProcess, untilStopped } from './start-process.ts';

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

interface Serving extends Started<LoadedConfiguration> {
  readonly keep: boolean;
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
      return startProcess(file, 'the files it names', io, loadConfiguration, (started) =>
        run({ ...started, keep: keep === true }),
      );
    },
  );
}

function run(started: Serving): Promise<void> {
  countBuffersWithHeap();
  if (cluster.isWorker) return runAsWorker(started);
  const { workers } = started.loaded.configuration.server;
  return workerCount(workers) === 1
    ? runWithAdmin(started, () => startApp(started), addressesOf)
    : runAsPrimary(started, workers);
}

async function runAsWorker(started: Serving): Promise<void> {
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

async function startApp({ limit, ...started }: Serving): Promise<App> {
  const app = await createApp({ ...started, sources: systemSources, onStep: (step) => limit.begin(step) });
  limit.end();
  return app;
}

function addressesOf({ addresses: { api: address, ...others } }: App): object {
  return { address, ...others };
}

async function runAsPrimary({ loaded, logger, limit }: Serving, workers: number | 'auto'): Promise<void> {
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
