/**
 * Loads the configuration again when one of its files changes, and on SIGHUP. A valid one is applied;
 * otherwise the last valid one stays in force. Files are read and their digests compared
 * (docs/decisions/0002-reload-by-reading.md), since a mounted secret changes by a swap of the symlink
 * `..data`, which causes no event for the file.
 * https://kubernetes.io/docs/concepts/configuration/secret/#mounted-secrets-are-updated-automatically
 */

import type { Timer } from '../lib/clock.ts';
import { defineCounter, defineGauge } from '../lib/metric.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import {
  fingerprint,
  type LoadedConfiguration,
  type LoadResult,
  type LoadSources,
  type Watched,
} from './load.ts';
import { formatProblem } from './problem.ts';

/**
 * Milliseconds between two checks. A mounted secret takes a minute to arrive, and an idle process should
 * sleep.
 */
const WATCH_INTERVAL = 10_000;

export interface ReloaderOptions<Loaded> extends Pick<Runtime, 'clock' | 'logger' | 'telemetry'> {
  readonly file: string;
  /** Reads and checks the file, and all files that it names. */
  readonly load: (file: string, sources: LoadSources) => Promise<LoadResult<Loaded>>;
  readonly sources: LoadSources;
  /** The files as they were loaded at the start. */
  readonly watched: Watched;
  /**
   * Brings a valid configuration into force. If it throws, the error is logged and the last configuration
   * stays.
   */
  readonly apply: (loaded: Loaded) => void | Promise<void>;
}

export const RELOADS = defineCounter({
  name: 'stonegate_reloads_total',
  help: 'Reloads of configuration, certificates and keys, by result.',
  labels: { result: ['ok', 'error'] },
});
export const LAST_RELOAD = defineGauge({
  name: 'stonegate_last_reload_successful',
  help: 'Whether the files on disk are in use: 1, or 0 if the last reload failed.',
  labels: {},
  aggregator: 'min',
  initial: 1,
});

/** A certificate, configuration or key file was read anew. */
export function countReload(telemetry: Telemetry, result: 'ok' | 'error'): void {
  telemetry.count(RELOADS, { result });
  telemetry.set(LAST_RELOAD, {}, result === 'ok' ? 1 : 0);
}

export interface Reloader {
  /** Loads now. All calls during a run share the next run. Never rejects. */
  reload(): Promise<void>;
  /**
   * Applies nothing any more, not even what is being loaded: components built after the end would never be
   * closed.
   */
  close(): void;
}

export function createReloader<Loaded extends Pick<LoadedConfiguration, 'digest'>>(
  options: ReloaderOptions<Loaded>,
): Reloader {
  const { clock, logger, sources, telemetry } = options;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let closed = false;

  let { watched } = options;
  let timer: Timer | undefined;
  schedule();

  function schedule(): void {
    if (closed) return;
    timer = clock.after(WATCH_INTERVAL, () => {
      reloadIfChanged().finally(schedule);
    });
  }

  async function reloadIfChanged(): Promise<void> {
    const before = watched;
    const changed = await Promise.all(
      [...before].map(async ([name, known]) => (await fingerprintOf(name)) !== known),
    );
    // A reload that has ended in the meantime has read the files anew.
    if (before === watched && changed.includes(true)) await reload();
  }

  function fingerprintOf(name: string): Promise<string> {
    return sources.readFile(name).then(fingerprint, () => fingerprint(undefined));
  }

  function reload(): Promise<void> {
    if (closed) return Promise.resolve();
    if (running === undefined) {
      running = run().finally(() => {
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

  async function run(): Promise<void> {
    try {
      const result = await options.load(options.file, sources);
      watched = result.watched;
      await use(result);
    } catch (error) {
      refuse([], error);
    }
  }

  async function use(result: LoadResult<Loaded>): Promise<void> {
    if (closed) return;
    if (!result.ok) {
      refuse(result.problems.map(formatProblem));
      return;
    }
    await options.apply(result.loaded);
    countReload(telemetry, 'ok');
    logger.info({ file: options.file, digest: result.loaded.digest }, 'configuration reloaded');
  }

  function refuse(problems: readonly string[], error?: unknown): void {
    countReload(telemetry, 'error');
    for (const problem of problems)
      logger.error({ file: options.file, problem }, 'problem in the configuration');
    logger.error(
      { file: options.file, problems: problems.length, ...(error === undefined ? {} : { error }) },
      'the new configuration is not used; the last valid one stays in force',
    );
  }

  return {
    reload,
    close() {
      closed = true;
      timer?.cancel();
    },
  };
}
