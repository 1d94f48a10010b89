/**
 * Keeps the running configuration that of the files: loads again when one of them changes or when asked to
 * (SIGHUP), applies what is good, and keeps the last good one when it is not. Each problem is logged once,
 * not at every look.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import {
  type LoadedConfiguration,
  type LoadResult,
  type LoadSources,
  loadConfiguration,
  type Watched,
} from './load.ts';
import { formatProblem } from './problem.ts';
import { watchFiles } from './watch.ts';

export interface ReloaderOptions {
  readonly file: string;
  readonly sources: LoadSources;
  /** What was loaded at start, to notice what changed since. */
  readonly watched: Watched;
  /** Brings a good configuration into force. What it throws is logged, and the last one stays. */
  readonly apply: (loaded: LoadedConfiguration) => void | Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface Reloader {
  /** Loads now. Calls that come while one runs share the next run. Never rejects. */
  reload(): Promise<void>;
  /**
   * Nothing is applied from now on, not even what is being loaded: what it would build would be closed by
   * nobody.
   */
  close(): void;
}

export function createReloader(options: ReloaderOptions): Reloader {
  const { logger, telemetry } = options;
  const said = new Set<string>();
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let closed = false;

  const watch = watchFiles({
    clock: options.clock,
    readFile: options.sources.readFile,
    onChange: reload,
    onError: (error) => logger.error({ error }, 'cannot look at the configuration files'),
  });
  watch.expect(options.watched);

  function reload(): Promise<void> {
    if (closed) return Promise.resolve();
    if (running === undefined) {
      running = once().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running.then(() => {
      next = undefined;
      return reload();
    });
    return next;
  }

  async function once(): Promise<void> {
    try {
      const result = await loadConfiguration(options.file, options.sources);
      watch.expect(result.watched);
      await bring(result);
    } catch (error) {
      refuse([], error);
    }
  }

  async function bring(result: LoadResult): Promise<void> {
    if (closed) return;
    if (!result.ok) {
      refuse(result.problems.map(formatProblem));
      return;
    }
    await options.apply(result.loaded);
    said.clear();
    telemetry.reload('ok');
    logger.info({ file: options.file, digest: result.loaded.digest }, 'configuration read anew');
  }

  function refuse(problems: readonly string[], error?: unknown): void {
    telemetry.reload('error');
    for (const problem of problems) {
      if (!said.has(problem)) logger.error({ file: options.file, problem }, 'problem in the configuration');
      said.add(problem);
    }
    logger.error(
      { file: options.file, problems: problems.length, ...(error === undefined ? {} : { error }) },
      'the new configuration is not used; the last good one stays in force',
    );
  }

  return {
    reload,
    close() {
      closed = true;
      watch.close();
    },
  };
}
