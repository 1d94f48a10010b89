/**
 * Where audit lines go. Those of some milliseconds go out in one write, since a write costs more than a line; a process that
 * is killed loses them. A log that cannot be written is said loudly, once until it can be again, and what is lost is counted;
 * it does not stop the API of an organisation.
 */

import { once } from 'node:events';
import sonicBoom from 'sonic-boom';
import type { AuditSink } from '../audit/audit-log.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { FileNotOpened } from '../lib/not-opened.ts';
import { GatheredLines, PendingLines } from './audit-lines.ts';

export interface AuditFile extends AuditSink {
  /** Opens the file anew: after a log rotation. */
  reopen(): void;
  /** Writes out what is pending; what cannot be written is lost, as at any other time. */
  close(): Promise<void>;
}

/** How long a line waits for others, in milliseconds, and how many bytes may wait. */
const GATHER_MS = 20;
const GATHER_BYTES = 256 * 1024;

/** @throws FileNotOpened: nothing is served that nobody would know of */
export async function createAuditFile(options: AuditStreamOptions): Promise<AuditFile> {
  const gathered = new GatheredLines(GATHER_BYTES);
  const stream = await openAuditStream(options, () => gathered.allWritten());
  let timer: Timer | undefined;

  function flush(): void {
    timer?.cancel();
    timer = undefined;
    if (!gathered.empty) stream.write(gathered.take());
  }

  return {
    write(...parts) {
      let length = 1;
      for (const part of parts) length += part.length;
      if (!gathered.fits(length)) flush();
      if (length > GATHER_BYTES) {
        stream.write(Buffer.from(`${parts.join('')}\n`, 'latin1'));
        return;
      }
      gathered.add(parts);
      timer ??= options.clock.after(GATHER_MS, flush);
    },
    reopen() {
      flush();
      stream.reopen();
    },
    close() {
      flush();
      return stream.close();
    },
  };
}

// FROM src/observability/audit-stream.ts
/*!
 * The file of the audit log, or standard output, written in the background and in order by sonic-boom (pino's own writer, but
 * without pino's hook at the process's exit, which throws where the file never opened). It is opened anew after a rotation,
 * and ends with every line that can be written; what is lost is counted.
 */

/** Its types know only the content mode of strings. */
declare module 'sonic-boom' {
  interface SonicBoom {
    write(chunk: Buffer): boolean;
  }
}

export interface AuditStreamOptions {
  /** `-` is standard output. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of every line that could not be kept. */
  readonly lost: () => void;
}

/** Lines waiting for a slow disk, in bytes; beyond it they are lost. */
const MAX_PENDING = 64 * 1024 * 1024;
/**
 * Milliseconds in which at least a byte must be written at the end. A pipe that nobody reads, or a hung file system, never
 * fails: whoever ends the process would end it by force, and nobody had said what is lost.
 */
const END_PATIENCE = 5_000;

/**
 * @param onAllWritten called when no chunk is in use any more
 * @throws FileNotOpened: nothing is served that nobody would know of
 */
async function openAuditStream(options: AuditStreamOptions, onAllWritten: () => void): Promise<AuditStream> {
  const { file } = options;
  const stream = new sonicBoom.SonicBoom({
    dest: file === '-' ? 1 : file,
    append: true,
    mkdir: true,
    sync: false,
    contentMode: 'buffer',
    maxLength: MAX_PENDING,
    mode: 0o600,
  });
  try {
    await once(stream, 'ready');
  } catch (error) {
    throw error instanceof Error && 'code' in error ? new FileNotOpened(file, error) : error;
  }
  return new AuditStream(stream, options, onAllWritten);
}

class AuditStream {
  readonly #stream: sonicBoom.SonicBoom;
  readonly #options: AuditStreamOptions;
  readonly #pending = new PendingLines();
  readonly #ended = Promise.withResolvers<void>();
  #closed = false;
  #failing = false;
  #losing = false;
  /** Events, since the process began. */
  #lost = 0;
  #reopening = false;
  /** Bytes. */
  #written = 0;

  /** @param stream ready */
  constructor(stream: sonicBoom.SonicBoom, options: AuditStreamOptions, onAllWritten: () => void) {
    this.#stream = stream;
    this.#options = options;
    stream.on('error', (error: NodeJS.ErrnoException) => this.#failed(error));
    stream.on('ready', () => {
      this.#reopening = false;
      if (this.#closed) stream.end();
    });
    stream.on('close', () => this.#ended.resolve());
    stream.on('write', (bytes: number) => {
      this.#written += bytes;
      this.#pending.wrote(bytes);
    });
    stream.on('drop', () =>
      this.#lose(this.#pending.takeBack(), 'the audit log is slower than the requests'),
    );
    stream.on('drain', () => {
      onAllWritten();
      this.#failing = false;
      this.#losing = false;
    });
  }

  /** @param chunk whole lines, which stay as they are until all is written */
  write(chunk: Buffer): void {
    this.#pending.add(chunk);
    try {
      this.#stream.write(chunk);
    } catch (error) {
      // It throws once it is closed.
      this.#lose(this.#pending.takeBack(), error);
    }
  }

  /** Behind the write under way; on standard output there is nothing to open. */
  reopen(): void {
    if (this.#closed || this.#options.file === '-') return;
    this.#reopening = true;
    this.#stream.reopen();
  }

  /** Writes out what is pending, as far as it can be written. */
  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      // Told to end, it would forget that it is to be opened anew, and what is pending with that.
      if (this.#reopening) this.#stream.reopen();
      else this.#stream.end();
      this.#expectProgress();
    }
    return this.#ended.promise;
  }

  #failed(error: NodeJS.ErrnoException): void {
    const { file, logger } = this.#options;
    if (!this.#failing) logger.error({ error, file }, 'the audit log cannot be written');
    this.#failing = true;
    // It waits for the write under way, and forgets it where that fails: a log moved off a full disk would stay there.
    if (this.#reopening && error.syscall === 'write') this.#stream.reopen();
    else if (this.#closed) this.#endOrGiveUp(error);
  }

  #endOrGiveUp(error: unknown): void {
    if (this.#reopening) {
      // The file it has will do, where it cannot be opened anew.
      this.#reopening = false;
      this.#stream.end();
      return;
    }
    this.#giveUp(error);
  }

  #giveUp(why: unknown): void {
    const left = this.#pending.giveUp();
    // Soon nobody can ask the metrics any more: the log is to have their number.
    this.#losing = false;
    if (left > 0) this.#lose(left, why);
    this.#ended.resolve();
  }

  #expectProgress(): void {
    const before = this.#written;
    this.#options.clock.after(END_PATIENCE, () => {
      if (this.#written === before) this.#giveUp('nothing takes them');
      else this.#expectProgress();
    });
  }

  /** Says how many are lost until now, once until all is written again. */
  #lose(events: number, why: unknown): void {
    const { file, logger, lost } = this.#options;
    for (let event = 0; event < events; event += 1) lost();
    this.#lost += events;
    if (!this.#losing) logger.error({ file, why, events: this.#lost }, 'audit events are lost');
    this.#losing = true;
  }
}
