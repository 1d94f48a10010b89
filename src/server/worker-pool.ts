/**
 * N processes on one port with `node:cluster`: the primary accepts and distributes connections, and replaces
 * a worker that exits. Only the connections of that worker are lost.
 * https://nodejs.org/api/cluster.html
 */
import cluster, { type Address, type Worker } from 'node:cluster';
import { Transform, type Writable } from 'node:stream';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

/** Milliseconds, as are the next two. */
const FIRST_DELAY = 100;
const MAX_DELAY = 30_000;
/** After this uptime a worker's exit counts as the first. */
const HEALTHY_UPTIME = 60_000;

const LINE_FEED = 0x0a;

export interface WorkerPoolOptions {
  readonly count: number;
  /** The program of a worker; by default this program with the same arguments. */
  readonly program?: { readonly file: string; readonly args: readonly string[] };
  /** Gets the workers' standard output in whole lines. */
  readonly output: Writable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once, when the first worker listens. */
  readonly onListening: (address: Address) => void;
  /** Called if a worker exits before any has listened: another attempt would fail too. */
  readonly onFailure: (error: Error) => void;
}

/** A worker exited before any has listened. Its own log has the reason. */
export class WorkerStartError extends Error {}

/** A slot of the pool: its worker is replaced after an exit. */
interface Slot {
  readonly id: number;
  readonly backoff: RestartBackoff;
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
    const { count, program, output } = options;
    // Each worker may wait for 'drain'.
    output.setMaxListeners(Math.max(output.getMaxListeners(), count + 1));
    cluster.setupPrimary({
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      ...(program && { exec: program.file, args: [...program.args] }),
    });
    this.#slots = Array.from({ length: count }, (_, index) => ({
      id: index + 1,
      backoff: new RestartBackoff(),
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
      onFailure(new WorkerStartError(`worker ${slot.id} ended with code ${code} before it listened`));
      return;
    }
    const delay = slot.backoff.next(uptime);
    logger.error({ worker: slot.id, code, signal, delay }, 'a worker exited and is restarted');
    slot.restart = clock.after(delay, () => this.#start(slot));
  }

  #checkEmpty(): void {
    if (this.#stopping && this.#slots.every(({ worker }) => worker === undefined)) this.#onEmpty();
  }
}

/** Exponential backoff for restarts, so that a crash loop does not use up the machine. */
export class RestartBackoff {
  #earlyExits = 0;

  /**
   * @param uptime milliseconds
   * @returns milliseconds to wait before the next start
   */
  next(uptime: number): number {
    this.#earlyExits = uptime >= HEALTHY_UPTIME ? 0 : this.#earlyExits + 1;
    return Math.min(MAX_DELAY, FIRST_DELAY * 2 ** Math.max(0, this.#earlyExits - 1));
  }
}

/** Passes on whole lines. An incomplete last line gets a line feed. */
function wholeLines(): Transform {
  let incomplete: Buffer[] = [];
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const end = chunk.lastIndexOf(LINE_FEED) + 1;
      if (end > 0) {
        this.push(Buffer.concat([...incomplete, chunk.subarray(0, end)]));
        incomplete = [];
      }
      if (end < chunk.length) incomplete.push(chunk.subarray(end));
      done();
    },
    flush(done) {
      // A worker that was killed while writing a line must not corrupt the next one.
      if (incomplete.length > 0) this.push(Buffer.concat([...incomplete, Buffer.of(LINE_FEED)]));
      done();
    },
  });
}

/**
 * Relays a worker's standard output, the audit log, in whole lines: several processes that write to one pipe
 * would mix their lines, because a write of more than PIPE_BUF (4096 bytes) is not atomic. POSIX write(2).
 *
 * @param from a worker's standard output
 * @param to shared by all workers; stays open
 */
export function relayLines(from: NodeJS.ReadableStream, to: Writable): void {
  const lines = wholeLines();
  lines.on('data', (chunk: Buffer) => {
    if (to.write(chunk)) return;
    lines.pause();
    to.once('drain', () => lines.resume());
  });
  from.pipe(lines);
}
