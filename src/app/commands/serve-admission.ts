/**
 * `stonegate serve --only admission`: one process with the admission webhook and the admin listener.
 */
import { type CommandIO, EXIT } from '../../cli/command.ts';
import { loadAdmission, systemSources } from '../../config/load.ts';
import { formatProblem } from '../../config/problem.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { createLogger } from '../../observability/log.ts';
import { createAdminListener } from '../../server/admin.ts';
import { onStopSignal } from '../../server/shutdown.ts';
import { type AdmissionApp, createAdmissionApp } from '../admission-app.ts';
import { startFailure } from '../start-failure.ts';
import { exitAtOnce, StartLimit } from '../start-limit.ts';

/** Resolves when everything is closed. */
export async function serveAdmission(file: string, io: CommandIO): Promise<number> {
  const logger = createLogger('info');
  const limit = new StartLimit({ clock: systemClock, logger, exit: exitAtOnce });
  limit.begin(`reading ${file} and the files of its section admission`);
  const result = await loadAdmission(file, systemSources);
  if (!result.ok) {
    limit.end();
    for (const problem of result.problems) io.stderr(`${formatProblem(problem)}\n`);
    return EXIT.failed;
  }
  const { loaded, watched } = result;
  const { configuration, digest } = loaded;
  logger.setLevel(configuration.log.level);
  let app: AdmissionApp | undefined;
  try {
    limit.begin(`listening at admin.bind ${configuration.admin.bind}`);
    const admin = await createAdminListener({
      bind: configuration.admin.bind,
      readiness: () => app?.readiness() ?? [{ name: 'start', reason: limit.step }],
      metrics: async () => app?.metrics.text() ?? '',
      random: systemRandom,
      logger,
    });
    try {
      limit.begin(`listening at admission.bind ${configuration.admission.bind}`);
      app = await createAdmissionApp({ file, loaded, watched, sources: systemSources, logger });
      limit.end();
      logger.info({ admission: app.address, admin: admin.address, digest }, 'serving');
      await untilStopped(app);
    } finally {
      await admin.close();
    }
    return EXIT.fine;
  } catch (error) {
    limit.end();
    const reason = startFailure(error, configuration);
    if (reason === undefined) logger.error({ error }, 'Stonegate could not be started');
    else logger.error({}, `Stonegate could not be started: ${reason}`);
    return EXIT.failed;
  }
}

async function untilStopped(app: AdmissionApp): Promise<void> {
  process.on('SIGHUP', () => void app.reload());
  await new Promise<void>((resolve) =>
    onStopSignal(process, (signal) => resolve(app.close(signal === 'SIGTERM'))),
  );
}
