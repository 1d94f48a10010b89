/**
 * The primary of several workers: it serves no client itself. It speaks for all of them at the admin listener,
 * passes signals on, and ends when they have ended.
 */
import type { EventEmitter } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { type AdminListener, createAdminListener } from './admin.ts';
import type { Readiness } from './health.ts';
import { onStopSignal } from './shutdown.ts';
import { ask, isReadinessList } from './worker-channel.ts';
import { WorkerPool, type WorkerPoolOptions } from './worker-pool.ts';

export interface PrimaryOptions extends Pick<WorkerPoolOptions, 'program' | 'output'> {
  readonly workers: number | 'auto';
  readonly admin: { readonly bind: string };
  /** Makes one exposition of what the workers' `metrics` gave. */
  readonly aggregate: (parts: readonly object[]) => Promise<string>;
  /** Milliseconds that a worker's requests in flight may still take. */
  readonly grace: number;
  /** Where signals come from: `process`. */
  readonly signals: EventEmitter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Primary {
  readonly admin: AdminListener['address'];
  /** Where the workers listen; undefined where they were stopped before they did. */
  readonly port: number | undefined;
  /** Resolves when all workers have ended and the admin listener is closed. */
  readonly stopped: Promise<void>;
}

/** Milliseconds a worker has to answer. */
const PATIENCE = 1_000;
/** Milliseconds beyond the grace before a worker that does not end is killed. */
const MARGIN = 5_000;

/** `auto` is one per core that this process may use. */
export function workerCount(workers: number | 'auto'): number {
  return workers === 'auto' ? availableParallelism() : workers;
}

/**
 * Resolves when the first worker listens.
 *
 * @throws Error where the admin address is taken or a worker gives up before any has listened
 */
export async function runPrimary(options: PrimaryOptions): Promise<Primary> {
  const { clock, grace, logger, signals } = options;
  const started = Promise.withResolvers<number | undefined>();
  const stopped = Promise.withResolvers<void>();
  let stopping = false;
  const admin = await createAdminListener({
    ...options,
    bind: options.admin.bind,
    readiness: async () => [
      ...(stopping ? [{ name: 'shutdown', reason: 'shutting down' }] : []),
      ...(await readinessOfAll(pool, clock)),
    ],
    metrics: async () => options.aggregate(await metricsOfAll(pool, clock)),
  });
  const pool = new WorkerPool({
    ...options,
    count: workerCount(options.workers),
    onListening: ({ port }) => started.resolve(port),
    onFailure: (error) => void stop(error),
  });

  const stop = async (failure?: Error) => {
    if (stopping) return;
    stopping = true;
    await pool.stop(grace + MARGIN);
    await admin.close();
    if (failure) started.reject(failure);
    else started.resolve(undefined);
    stopped.resolve();
  };
  onStopSignal(signals, (signal) => {
    logger.info({ signal }, 'ending all workers');
    void stop();
  });
  signals.on('SIGHUP', () => pool.signal('SIGHUP'));
  return { admin: admin.address, port: await started.promise, stopped: stopped.promise };
}

async function readinessOfAll(pool: WorkerPool, clock: Clock): Promise<Readiness[]> {
  const lists = await Promise.all(
    pool.places.map(async ({ id, worker }): Promise<Readiness[]> => {
      if (worker === undefined) return [{ name: `worker ${id}`, reason: 'not running' }];
      const answer = await ask(worker, 'readiness', clock, PATIENCE);
      if (!isReadinessList(answer)) return [{ name: `worker ${id}`, reason: 'does not answer' }];
      return answer.map((part) => ({ ...part, name: `worker ${id}: ${part.name}` }));
    }),
  );
  return lists.flat();
}

async function metricsOfAll(pool: WorkerPool, clock: Clock): Promise<object[]> {
  const answers = await Promise.all(
    pool.places.map(async ({ worker }) =>
      worker === undefined ? undefined : ask(worker, 'metrics', clock, PATIENCE),
    ),
  );
  return answers.filter((answer) => typeof answer === 'object' && answer !== null);
}
