/**
 * N processes on one port with `node:cluster`: the primary accepts and distributes connections, and replaces
 * a worker that exits. Only the connections of that worker are lost.
 * https://nodejs.org/api/cluster.html
 */

import cluster, { type Address, type Worker } from 'node:cluster';
import type { Writable } from 'node:stream';
import { Backoff } from '../lib/backoff.ts';
import type { Timer } from '../lib/clock.ts';
import type { Runtime } from '../lib/runtime.ts';

/** Milliseconds until a worker is restarted, so that a crash loop does not use up the machine. */
const DELAYS = { first: 100, longest: 30_000 };
/** After this uptime, in milliseconds, a worker's exit counts as the first. */
const HEALTHY_UPTIME = 60_000;

const LINE_FEED = 0x0a;

export interface WorkerPoolOptions extends Pick<Runtime, 'clock' | 'logger' | 'random'> {
  readonly count: number;
  /** The program of a worker; by default this program with the same arguments. */
  readonly program?: { readonly file: string; readonly args: readonly string[] };
  /** Gets the workers' standard output in whole lines. */
  readonly output: Writable;
  /** Called once, when the first worker listens. */
  readonly onListening: (address: Address) => void;
  /** Called if a worker exits before any has listened: another attempt would fail too. */
  readonly onFailure: (error: Error) => void;
}

/** A worker exited before any has listened. */
export class WorkerStartError extends Error {}

/** A slot of the pool: its worker is replaced after an exit. */
interface Slot {
  readonly id: number;
  readonly backoff: Backoff;
  worker: Worker | undefined;
  listening: boolean;
  restart: Timer | undefined;
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #slots: Slot[];
  #everListened = false;
  #stopping = false;
  #onEmpty: () => void = () => undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { count, program, output, random } = options;
    // Each worker may wait for 'drain'.
    output.setMaxListeners(Math.max(output.getMaxListeners(), count + 1));
    cluster.setupPrimary({
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      ...(program && { exec: program.file, args: [...program.args] }),
    });
    this.#slots = Array.from({ length: count }, (_, index) => ({
      id: index + 1,
      backoff: new Backoff({ ...DELAYS, random }),
      worker: undefined,
      listening: false,
      restart: undefined,
    }));
    for (const slot of this.#slots) this.#start(slot);
  }

  /** All slots; `worker` is undefined if none listens. */
  get slots(): { readonly id: number; readonly worker: Worker | undefined }[] {
    return this.#slots.map(({ id, worker, listening }) => ({ id, worker: listening ? worker : undefined }));
  }

  signal(signal: NodeJS.Signals): void {
    for (const { worker } of this.#slots) worker?.process.kill(signal);
  }

  /**
   * Stops all workers; resolves when they have exited.
   *
   * @param timeout milliseconds until they are killed
   */
  async stop(signal: NodeJS.Signals, timeout: number): Promise<void> {
    this.#stopping = true;
    for (const { restart } of this.#slots) restart?.cancel();
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    this.#checkEmpty();
    this.signal(signal);
    const timer = this.#options.clock.after(timeout, () => this.signal('SIGKILL'));
    await empty;
    timer.cancel();
  }

  #start(slot: Slot): void {
    const { clock, logger, output, onListening } = this.#options;
    const startedAt = clock.now();
    const worker = cluster.fork();
    slot.worker = worker;
    if (worker.process.stdout) relayLines(worker.process.stdout, output);
    worker.on('error', (error) => logger.error({ error, worker: slot.id }, 'the channel to a worker failed'));
    worker.once('listening', (address: Address) => {
      slot.listening = true;
      if (!this.#everListened) onListening(address);
      this.#everListened = true;
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      slot.worker = undefined;
      slot.listening = false;
      this.#replace(slot, clock.now() - startedAt, code, signal);
    });
  }

  #replace(slot: Slot, uptime: number, code: number | null, signal: string | null): void {
    this.#checkEmpty();
    if (this.#stopping) return;
    const { clock, logger, onFailure } = this.#options;
    if (!this.#everListened && !signal) {
      onFailure(
        new WorkerStartError(
          `worker ${slot.id} ended with code ${code} before it listened; its own line in the log says why`,
        ),
      );
      return;
    }
    if (uptime >= HEALTHY_UPTIME) slot.backoff.reset();
    const delay = slot.backoff.next();
    logger.error({ worker: slot.id, code, signal, delay }, 'a worker exited and is restarted');
    slot.restart = clock.after(delay, () => this.#start(slot));
  }

  #checkEmpty(): void {
    if (this.#stopping && this.#slots.every(({ worker }) => worker === undefined)) this.#onEmpty();
  }
}

/**
 * Relays a worker's standard output, the audit log, in whole lines: several processes that write to one pipe
 * would mix their lines, because a write of more than PIPE_BUF (4096 bytes) is not atomic. POSIX write(2).
 *
 * @param from a worker's standard output; an incomplete last line gets a line feed
 * @param to shared by all workers; stays open
 */
export function relayLines(from: NodeJS.ReadableStream, to: Writable): void {
  let incomplete: Buffer[] = [];
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    const lines = end === 0 ? undefined : Buffer.concat([...incomplete, chunk.subarray(0, end)]);
    if (lines !== undefined) incomplete = [];
    if (end < chunk.length) incomplete.push(chunk.subarray(end));
    if (lines === undefined || to.write(lines)) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  // A worker that was killed while writing a line must not corrupt the next one.
  from.on('end', () => {
    if (incomplete.length > 0) to.write(Buffer.concat([...incomplete, Buffer.of(LINE_FEED)]));
  });
}
