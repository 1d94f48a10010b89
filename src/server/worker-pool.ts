/**
 * N processes on one port, by `node:cluster`: the primary accepts and hands connections round, a worker that dies
 * is replaced, and its death costs nobody but its own connections.
 * https://nodejs.org/api/cluster.html
 */
import cluster, { type Address, type Worker } from 'node:cluster';
import type { Writable } from 'node:stream';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { RestartBackoff } from './restart-backoff.ts';
import { relayLines } from './worker-output.ts';

export interface WorkerPoolOptions {
  readonly count: number;
  /** What a worker runs; by default this very program with the same arguments. */
  readonly program?: { readonly file: string; readonly args: readonly string[] };
  /** Where the workers' standard output goes, line by line. */
  readonly output: Writable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once, when the first worker listens. */
  readonly onListening: (address: Address) => void;
  /** Called where a worker gave up before any had ever listened: the next would fare no better. */
  readonly onFailure: (error: Error) => void;
}

/** A worker has ended before any listened. Why stands in its own log. */
export class WorkerGaveUp extends Error {}

/** A place in the pool; the worker in it changes. */
interface Place {
  readonly id: number;
  readonly backoff: RestartBackoff;
  worker: Worker | undefined;
  listening: boolean;
  restart: Timer | undefined;
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #places: Place[];
  #everListened = false;
  #stopping = false;
  #emptied: () => void = () => undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { count, program, output } = options;
    // Each worker may wait for room.
    output.setMaxListeners(Math.max(output.getMaxListeners(), count + 1));
    cluster.setupPrimary({
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      ...(program && { exec: program.file, args: [...program.args] }),
    });
    this.#places = Array.from({ length: count }, (_, index) => ({
      id: index + 1,
      backoff: new RestartBackoff(),
      worker: undefined,
      listening: false,
      restart: undefined,
    }));
    for (const place of this.#places) this.#start(place);
  }

  /** Every place with the worker that listens there, if one does. */
  get places(): { readonly id: number; readonly worker: Worker | undefined }[] {
    return this.#places.map(({ id, worker, listening }) => ({ id, worker: listening ? worker : undefined }));
  }

  signal(signal: NodeJS.Signals): void {
    for (const { worker } of this.#places) worker?.process.kill(signal);
  }

  /**
   * Tells every worker to end; resolves when all have.
   *
   * @param patience milliseconds after which they are killed
   */
  async stop(patience: number): Promise<void> {
    this.#stopping = true;
    for (const { restart } of this.#places) restart?.cancel();
    const emptied = new Promise<void>((resolve) => {
      this.#emptied = resolve;
    });
    this.#settle();
    this.signal('SIGTERM');
    const timer = this.#options.clock.after(patience, () => this.signal('SIGKILL'));
    await emptied;
    timer.cancel();
  }

  #start(place: Place): void {
    const { clock, logger, output, onListening } = this.#options;
    const startedAt = clock.now();
    const worker = cluster.fork();
    place.worker = worker;
    if (worker.process.stdout) relayLines(worker.process.stdout, output);
    worker.on('error', (error) => logger.error({ error, worker: place.id }, 'a worker could not be reached'));
    worker.once('listening', (address: Address) => {
      place.listening = true;
      if (!this.#everListened) onListening(address);
      this.#everListened = true;
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      place.worker = undefined;
      place.listening = false;
      this.#replace(place, clock.now() - startedAt, code, signal);
    });
  }

  #replace(place: Place, livedFor: number, code: number | null, signal: string | null): void {
    this.#settle();
    if (this.#stopping) return;
    const { clock, logger, onFailure } = this.#options;
    if (!this.#everListened && !signal) {
      onFailure(new WorkerGaveUp(`worker ${place.id} ended with code ${code} before it listened`));
      return;
    }
    const delay = place.backoff.died(livedFor);
    logger.error({ worker: place.id, code, signal, delay }, 'a worker died and is replaced');
    place.restart = clock.after(delay, () => this.#start(place));
  }

  #settle(): void {
    if (this.#stopping && this.#places.every(({ worker }) => worker === undefined)) this.#emptied();
  }
}
