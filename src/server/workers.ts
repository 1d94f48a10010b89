/**
 * The primary of several workers. It serves no clients: it reports the workers' health and metrics at the
 * admin listener, forwards signals, and exits when the workers have exited.
 */

import type { EventEmitter } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Clock } from '../lib/clock.ts';
import type { Runtime } from '../lib/runtime.ts';
import { type AdminListener, createAdminListener, type Readiness } from './admin.ts';
import { onStopSignal, type StopSignal } from './shutdown.ts';
import { requestReport, type WorkerReport } from './worker-channel.ts';
import { WorkerPool, type WorkerPoolOptions } from './worker-pool.ts';

export interface PrimaryOptions
  extends Pick<WorkerPoolOptions, 'program' | 'output'>,
    Pick<Runtime, 'clock' | 'logger' | 'random'> {
  readonly workers: number | 'auto';
  readonly admin: { readonly bind: string };
  /** Stonegate's version. */
  readonly version: string;
  /** Merges the workers' `metrics` into one exposition. */
  readonly aggregate: (parts: readonly object[]) => Promise<string>;
  /** Merges the workers' `usage`, by the slot of the worker; absent if it is off. */
  readonly usage?: ((parts: ReadonlyMap<number, object>) => string) | undefined;
  /** How long a worker accepts requests after SIGTERM, in milliseconds. */
  readonly drain: number;
  /** Shutdown grace period of a worker, in milliseconds. */
  readonly grace: number;
  /** Emits the signals: `process`. */
  readonly signals: EventEmitter;
}

export interface Primary {
  readonly admin: AdminListener['address'];
  /** The workers' port; undefined if they were stopped before they listened. */
  readonly port: number | undefined;
  /** Resolves when all workers have exited and the admin listener is closed. */
  readonly stopped: Promise<void>;
}

/** Milliseconds for a worker's response. */
const WORKER_TIMEOUT = 1_000;
/** Milliseconds after the grace period until a worker is killed. */
const KILL_DELAY = 5_000;

/** `auto`: one per available core. */
export function workerCount(workers: number | 'auto'): number {
  return workers === 'auto' ? availableParallelism() : workers;
}

/**
 * Resolves when the first worker listens.
 *
 * @throws Error if the admin address is in use or a worker exits before any has listened
 */
export async function runPrimary(options: PrimaryOptions): Promise<Primary> {
  const { clock, drain, grace, logger, signals, usage } = options;
  const started = Promise.withResolvers<number | undefined>();
  const stopped = Promise.withResolvers<void>();
  let stopping = false;
  const admin = await createAdminListener({
    ...options,
    bind: options.admin.bind,
    readiness: async () => [
      ...(stopping ? [{ name: 'shutdown', reason: 'shutting down' }] : []),
      ...(await reportsOf(pool, clock)).flatMap(readinessOf),
    ],
    metrics: async () => {
      const reports = await reportsOf(pool, clock);
      return options.aggregate(reports.flatMap(({ report }) => (report ? [report.metrics] : [])));
    },
    usage:
      usage &&
      (async () => {
        const reports = await reportsOf(pool, clock);
        return usage(
          new Map(reports.flatMap(({ id, report }) => (report?.usage ? [[id, report.usage]] : []))),
        );
      }),
  });
  const pool = new WorkerPool({
    ...options,
    count: workerCount(options.workers),
    onListening: ({ port }) => started.resolve(port),
    onFailure: (error) => void stop('SIGINT', error),
  });

  const stop = async (signal: StopSignal, failure?: Error) => {
    if (stopping) {
      pool.signal(signal);
      return;
    }
    stopping = true;
    await pool.stop(signal, drain + grace + KILL_DELAY);
    await admin.close();
    if (failure) started.reject(failure);
    else started.resolve(undefined);
    stopped.resolve();
  };
  onStopSignal(signals, (signal) => {
    logger.info({ signal }, 'stopping all workers');
    void stop(signal);
  });
  signals.on('SIGHUP', () => pool.signal('SIGHUP'));
  return { admin: admin.address, port: await started.promise, stopped: stopped.promise };
}

function readinessOf({ id, isRunning, report }: Reported): Readiness[] {
  if (report === undefined)
    return [{ name: `worker ${id}`, reason: isRunning ? 'does not answer' : 'not running' }];
  return report.readiness.map((part) => ({ ...part, name: `worker ${id}: ${part.name}` }));
}

interface Reported {
  /** The slot of the worker. */
  readonly id: number;
  readonly isRunning: boolean;
  readonly report: WorkerReport | undefined;
}

function reportsOf({ slots }: WorkerPool, clock: Clock): Promise<Reported[]> {
  return Promise.all(
    slots.map(async ({ id, worker }) => ({
      id,
      isRunning: worker !== undefined,
      report: worker && (await requestReport(worker, clock, WORKER_TIMEOUT)),
    })),
  );
}
