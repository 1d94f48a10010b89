/**
 * One process: its start, its reloads and its end, whatever it serves. What it serves is a program:
 * `proxy-program.ts` or `admission-program.ts`.
 */

import { version } from '../cli/version.ts';
import { createCertificateReport } from '../config/certificate-periods.ts';
import { type GenerationBuilder, Generations } from '../config/generation.ts';
import type { Loaded, LoadResult, LoadSources, Watched } from '../config/load.ts';
import { createReloader } from '../config/reload.ts';
import type { ProcessUsage } from '../features/usage/usage-metrics.ts';
import { systemClock } from '../lib/clock.ts';
import { systemRandom } from '../lib/random.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { createLogger, LogLevel } from '../observability/log.ts';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import { type Readiness, readinessOf } from '../server/admin.ts';
import { createShutdown, type ShutdownOptions } from '../server/shutdown.ts';
import { createListeners, type Listeners, type ServedListeners } from './listeners.ts';
import { METRICS } from './metrics.ts';
import { warnOfRestart } from './restart-fields.ts';

/** A configuration with what every process reads of it. */
export type LoadedProcess = Loaded<{ readonly log: { readonly level: LogLevel } }>;

/** A generation's value: the process builds it from one configuration. */
export interface Served {
  readonly listeners: ServedListeners;
  /** The process logs these for the operator. */
  readonly warnings: readonly string[];
}

/** A program says what a process loads and serves. */
export interface Program<L extends LoadedProcess, S extends Served> {
  load(file: string, sources: LoadSources): Promise<LoadResult<L>>;
  /**
   * Opens what outlives all configurations, before the first one is in force.
   *
   * @throws FileNotOpened
   */
  open(start: ProgramStart<L, S>): Promise<OpenProgram<L, S>>;
}

export interface ProgramStart<L, S> extends Required<Pick<AppOptions<L>, 'loaded' | 'onStep'>> {
  readonly runtime: Runtime;
  readonly metrics: Metrics;
  readonly generations: Generations<S>;
}

/** For `drain`, `grace` and `afterwards` see `ShutdownOptions`. */
export interface OpenProgram<L, S> extends Pick<ShutdownOptions, 'drain' | 'grace' | 'afterwards'> {
  /** @throws Error if a part of the configuration cannot be used */
  build(next: L, generation: GenerationBuilder): S;
  /** Called when a configuration has come into force; with the first, before its listeners. Never throws. */
  applied?(next: L): void;
  /** Called when the listeners are open and the components are started. */
  started?(): void;
  checks?(): readonly ReadinessCheck[];
  /** Undefined if usage is off. */
  usage?(): ProcessUsage | undefined;
  /** Opens files again and clears caches, when an operator asks for a reload. */
  reopen?(): void;
}

export interface AppOptions<L> {
  readonly file: string;
  readonly loaded: L;
  readonly watched: Watched;
  readonly sources: LoadSources;
  readonly logger: ReturnType<typeof createLogger>;
  /** Called with each step of the start before it begins: a step may never end. */
  readonly onStep?: (step: string) => void;
}

export interface App extends Pick<Listeners, 'address' | 'addresses'> {
  readonly metrics: Metrics;
  /** How many generations and components are not disposed. */
  readonly counts: Generations<unknown>['counts'];
  /** Undefined if usage is off. */
  usage(): ProcessUsage | undefined;
  readiness(): Readiness[];
  /** Reads all files again; opens the audit log again and clears the caches, as far as there are any. */
  reload(): Promise<void>;
  /**
   * Shuts down in order; resolves when everything is closed.
   *
   * @param drain whether requests are accepted for a while before; if not, a drain that has begun ends
   */
  close(drain?: boolean): Promise<void>;
}

/** @throws Error if an address is taken, or a file cannot be opened */
export async function createApp<L extends LoadedProcess, S extends Served>(
  program: Program<L, S>,
  options: AppOptions<L>,
): Promise<App> {
  const { loaded, logger, onStep = () => {} } = options;
  const metrics = createMetrics(METRICS, () => systemClock.now(), await version());
  const runtime = { clock: systemClock, random: systemRandom, logger, telemetry: metrics };
  const reportCertificates = createCertificateReport(runtime);
  reportCertificates(loaded);
  const generations = new Generations<S>(logger);
  const opened = await program.open({ loaded, runtime, metrics, generations, onStep });
  const listeners = await openListeners();
  generations.start();
  warn();
  opened.started?.();
  const reloader = createReloader({ ...runtime, ...options, load: program.load, apply });
  const { drain, grace } = opened;
  const afterwards = [{ name: 'reloader', close: () => reloader.close() }, ...opened.afterwards];
  const shutdown = createShutdown({ ...runtime, listener: listeners, drain, grace, afterwards });
  return {
    address: listeners.address,
    addresses: listeners.addresses,
    metrics,
    get counts() {
      return generations.counts;
    },
    usage: () => opened.usage?.(),
    readiness: () => readinessOf([shutdown.check, ...(opened.checks?.() ?? [])]),
    async reload() {
      opened.reopen?.();
      await reloader.reload();
    },
    close: (drain = false) => shutdown.begin(drain),
  };

  /** Builds the first generation and opens its listeners. */
  async function openListeners(): Promise<Listeners> {
    try {
      generations.replace((generation) => opened.build(loaded, generation));
      opened.applied?.(loaded);
      return await createListeners(() => generations.current.listeners, runtime, onStep);
    } catch (error) {
      for (const part of opened.afterwards) await part.close();
      throw error;
    }
  }

  /**
   * Everything that can fail comes before everything that has an effect. The function is synchronous, so that
   * no request is served in between.
   */
  function apply(next: L): void {
    let setTLS = () => {};
    generations.replace((generation) => {
      const served = opened.build(next, generation);
      setTLS = listeners.prepareTLS(served.listeners);
      return served;
    });
    // Nothing after this line can fail.
    setTLS();
    opened.applied?.(next);
    logger.setLevel(next.configuration.log.level);
    warn();
    warnOfRestart(loaded.configuration, next.configuration, logger);
    reportCertificates(next);
  }

  function warn(): void {
    for (const warning of generations.current.warnings) logger.warn({}, warning);
  }
}
