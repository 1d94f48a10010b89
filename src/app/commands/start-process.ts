/**
 * Starts a process that serves until it is told to stop: reads its configuration, opens the admin listener,
 * and says what prevents the start.
 */
import { type CommandIO, EXIT } from '../../cli/command.ts';
import { type LoadSources, systemSources, type Watched } from '../../config/load.ts';
import { formatProblem, type Problem } from '../../config/problem.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { createLogger } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { createAdminListener, type Readiness } from '../../server/admin.ts';
import { onStopSignal } from '../../server/shutdown.ts';
import { startFailure } from '../start-failure.ts';
import { exitAtOnce, StartLimit } from '../start-limit.ts';

interface Loaded {
  readonly configuration: Parameters<typeof startFailure>[1];
  readonly digest: string;
}

type Load<L> = (
  file: string,
  sources: LoadSources,
) => Promise<
  | { readonly ok: true; readonly loaded: L; readonly watched: Watched }
  | { readonly ok: false; readonly problems: readonly Problem[] }
>;

export interface Started<L> {
  readonly file: string;
  readonly loaded: L;
  readonly watched: Watched;
  readonly logger: ReturnType<typeof createLogger>;
  readonly limit: StartLimit;
}

interface RunningApp {
  readonly metrics: Metrics;
  readiness(): Readiness[];
  reload(): Promise<void>;
  close(drain?: boolean): Promise<void>;
}

/**
 * @param what is read beside the file
 * @param run resolves when everything is closed
 * @returns the exit code
 */
export async function startProcess<L extends Loaded>(
  file: string,
  what: string,
  io: CommandIO,
  load: Load<L>,
  run: (started: Started<L>) => Promise<void>,
): Promise<number> {
  const logger = createLogger('info');
  const limit = new StartLimit({ clock: systemClock, logger, exit: exitAtOnce });
  limit.begin(`reading ${file} and ${what}`);
  const result = await load(file, systemSources);
  if (!result.ok) {
    limit.end();
    for (const problem of result.problems) io.stderr(`${formatProblem(problem)}\n`);
    return EXIT.failed;
  }
  const { loaded, watched } = result;
  logger.setLevel(loaded.configuration.log.level);
  try {
    await run({ file, loaded, watched, logger, limit });
    return EXIT.fine;
  } catch (error) {
    limit.end();
    const reason = startFailure(error, loaded.configuration);
    if (reason === undefined) logger.error({ error }, 'Stonegate could not be started');
    else logger.error({}, `Stonegate could not be started: ${reason}`);
    return EXIT.failed;
  }
}

/** @param addressesOf of its listeners, for the log */
export async function runWithAdmin<A extends RunningApp>(
  { loaded, logger, limit }: Started<Loaded>,
  start: () => Promise<A>,
  addressesOf: (app: A) => object,
): Promise<void> {
  const { bind } = loaded.configuration.admin;
  let app: A | undefined;
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
    app = await start();
    limit.end();
    logger.info({ ...addressesOf(app), admin: admin.address, digest: loaded.digest }, 'serving');
    await untilStopped(app, logger);
  } finally {
    await admin.close();
  }
}

/** Ends on the first stop signal. SIGINT ends a drain that SIGTERM has begun, but not the grace period. */
export async function untilStopped(
  app: Pick<RunningApp, 'reload' | 'close'>,
  logger: Started<Loaded>['logger'],
): Promise<void> {
  process.on('SIGHUP', () => {
    logger.info({}, 'SIGHUP: reloading');
    void app.reload();
  });
  await new Promise<void>((resolve) =>
    onStopSignal(process, (signal) => resolve(app.close(signal === 'SIGTERM'))),
  );
}
