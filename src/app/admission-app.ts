/**
 * A process that serves the admission webhook and nothing else. It waits for no other server, and so is there
 * before the API server is. Its start, its reloads and its end.
 */

import { version } from '../cli/version.ts';
import { counted, type RuntimeDependencies } from '../config/build.ts';
import { createCertificateReport } from '../config/certificate-periods.ts';
import { Generations } from '../config/generation.ts';
import { createReloader } from '../config/reload.ts';
import { ADMISSION_LISTENER } from '../features/listener-settings.ts';
import { systemClock } from '../lib/clock.ts';
import type { Exchange } from '../lib/exchange.ts';
import { systemRandom } from '../lib/random.ts';
import { createMetrics } from '../observability/metrics.ts';
import { readinessOf } from '../server/admin.ts';
import { CONNECTIONS_OPEN, createListener } from '../server/listener.ts';
import { createShutdown } from '../server/shutdown.ts';
import type { AppOptions, ServingApp } from './app.ts';
import { buildAdmission } from './build-listeners.ts';
import { type LoadedAdmission, loadAdmission } from './configuration.ts';
import { tlsMaterial } from './listeners.ts';
import { METRICS } from './metrics.ts';
import { warnOfRestart } from './restart-fields.ts';
import { createAdmissionUpstream } from './upstream.ts';

export interface AdmissionAppOptions extends Pick<AppOptions, 'file' | 'watched' | 'sources' | 'logger'> {
  readonly loaded: LoadedAdmission;
}

/** Milliseconds for which requests are still accepted, until the API servers have learned of the end. */
const DRAIN = 5_000;
/** Milliseconds; API servers wait five seconds for a verdict. */
const SHUTDOWN_GRACE = 10_000;

/** @throws Error if the address is taken */
export async function createAdmissionApp(options: AdmissionAppOptions): Promise<ServingApp> {
  const { file, loaded, watched, sources, logger } = options;
  const metrics = createMetrics(METRICS, () => systemClock.now(), await version());
  const runtime: RuntimeDependencies = {
    clock: systemClock,
    random: systemRandom,
    logger,
    telemetry: metrics,
  };
  const generations = new Generations<(exchange: Exchange) => Promise<void>>(logger);

  function replaceGeneration(next: LoadedAdmission): void {
    generations.replace((generation) => {
      const build = { loaded: next, runtime, generation };
      const upstream = createAdmissionUpstream(build);
      const serve = buildAdmission(build, upstream);
      if (serve === undefined) throw new Error('there is no section admission');
      return counted(serve, generation.inFlight);
    });
  }

  replaceGeneration(loaded);
  const reportCertificates = createCertificateReport(runtime);
  reportCertificates(loaded);
  const listener = await createListener({
    ...runtime,
    ...ADMISSION_LISTENER,
    bind: loaded.configuration.admission.bind,
    tls: tlsMaterial(loaded.configuration.admission.tls, loaded.file),
    serve: (exchange) => generations.current(exchange),
  });
  metrics.measure(CONNECTIONS_OPEN, () => [[{ listener: 'admission' }, listener.activeConnections]]);
  generations.start();
  const reloader = createReloader({
    ...runtime,
    file,
    load: loadAdmission,
    sources,
    watched,
    apply(next) {
      const setTLS = listener.prepareTLS(tlsMaterial(next.configuration.admission.tls, next.file));
      replaceGeneration(next);
      // Nothing after this line can fail.
      setTLS();
      logger.setLevel(next.configuration.log.level);
      warnOfRestart(loaded.configuration, next.configuration, logger);
      reportCertificates(next);
    },
  });
  const shutdown = createShutdown({
    clock: runtime.clock,
    listener,
    drain: DRAIN,
    grace: SHUTDOWN_GRACE,
    afterwards: [
      { name: 'reloader', close: () => reloader.close() },
      { name: 'components', close: () => generations.close() },
    ],
    logger,
  });
  return {
    address: listener.address,
    metrics,
    readiness: () => readinessOf([shutdown.check]),
    reload: () => reloader.reload(),
    close: (drain = false) => shutdown.begin(drain),
  };
}
