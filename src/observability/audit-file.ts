/**
 * A file or standard output for audit events and usage records, written in the background by sonic-boom,
 * whole lines in order. If it cannot be written, requests continue: the failure is logged and lost lines are
 * counted. Without pino's exit hook, which throws if the file never opened.
 */

import { once } from 'node:events';
import { dirname } from 'node:path';
import sonicBoom from 'sonic-boom';
import type { Timer } from '../lib/clock.ts';
import { FileNotOpened } from '../lib/file-errors.ts';
import { makeFolder } from '../lib/make-folder.ts';
import type { Runtime } from '../lib/runtime.ts';
import { AUDIT_BYTES } from '../limits/memory-bounds.ts';
import { LineBatch, UnwrittenLines } from './audit-lines.ts';
import type { AuditSink } from './audit-log.ts';

export interface AuditFile extends AuditSink {
  /** Opens the file again, after a log rotation. */
  reopen(): void;
  /** Writes pending lines; those that cannot be written are counted as lost. */
  close(): Promise<void>;
}

/**
 * The maximum age of a batch in milliseconds, and its size. One write per line would cost more than the
 * line; lines of the current batch are lost if the process is killed.
 */
const BATCH_MS = 20;
const BATCH_BYTES = 256 * 1024;

/** @throws FileNotOpened; requests are not served without an audit log */
export async function createAuditFile(options: AuditStreamOptions): Promise<AuditFile> {
  const batch = new LineBatch(BATCH_BYTES);
  const stream = await openAuditStream(options, () => batch.allWritten());
  let timer: Timer | undefined;

  function flush(): void {
    timer?.cancel();
    timer = undefined;
    if (!batch.empty) stream.write(batch.take());
  }

  return {
    write(...parts) {
      let length = 1;
      for (const part of parts) length += part.length;
      if (!batch.fits(length)) flush();
      if (length > BATCH_BYTES) {
        stream.write(Buffer.from(`${parts.join('')}\n`, 'latin1'));
        return;
      }
      batch.add(parts);
      timer ??= options.clock.after(BATCH_MS, flush);
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

/** sonic-boom's types lack the content mode for buffers. */
declare module 'sonic-boom' {
  interface SonicBoom {
    write(chunk: Buffer): boolean;
  }
}

export interface AuditStreamOptions extends Pick<Runtime, 'clock' | 'logger'> {
  /** `-` is standard output. */
  readonly file: string;
  /** What the lines are, for the log. */
  readonly content: 'audit events' | 'usage records';
  /** Called for each lost line. */
  readonly lost: () => void;
  /** Called when a write has failed, and when everything is written again. */
  readonly failing?: (failing: boolean) => void;
}

/**
 * Milliseconds within which at least one byte must be written when the log is closed. A pipe without a
 * reader or a hung file system never fails; without this limit the process would be killed before it reports
 * the lost events.
 */
const CLOSE_TIMEOUT = 5_000;

/**
 * @param onAllWritten called when no chunk is in use
 * @throws FileNotOpened
 */
async function openAuditStream(options: AuditStreamOptions, onAllWritten: () => void): Promise<AuditStream> {
  const { file } = options;
  try {
    // sonic-boom would try for ever where no folder can be made.
    if (file !== '-') await makeFolder(dirname(file));
    const stream = new sonicBoom.SonicBoom({
      dest: file === '-' ? 1 : file,
      append: true,
      // A log may be reopened after its folder was moved.
      mkdir: true,
      sync: false,
      contentMode: 'buffer',
      maxLength: AUDIT_BYTES,
      mode: 0o600,
    });
    await once(stream, 'ready');
    return new AuditStream(stream, options, onAllWritten);
  } catch (error) {
    throw error instanceof Error && 'code' in error ? new FileNotOpened(file, error) : error;
  }
}

class AuditStream {
  readonly #stream: sonicBoom.SonicBoom;
  readonly #options: AuditStreamOptions;
  readonly #pending = new UnwrittenLines();
  readonly #ended = Promise.withResolvers<void>();
  #closed = false;
  #failing = false;
  #losing = false;
  /** Lost lines since the start of the process. */
  #lost = 0;
  #reopening = false;
  /** Bytes written. */
  #written = 0;

  /** @param stream a stream that is ready */
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
      this.#pending.confirmWritten(bytes);
    });
    stream.on('drop', () => this.#lose(this.#pending.removeLast(), 'the file is slower than the requests'));
    stream.on('drain', () => {
      onAllWritten();
      if (this.#failing) this.#options.failing?.(false);
      this.#failing = false;
      this.#losing = false;
    });
  }

  /** @param chunk whole lines, not changed until they are written */
  write(chunk: Buffer): void {
    this.#pending.add(chunk);
    try {
      this.#stream.write(chunk);
    } catch (error) {
      // A closed stream throws.
      this.#lose(this.#pending.removeLast(), error);
    }
  }

  /** Takes effect after the current write. Standard output is not reopened. */
  reopen(): void {
    if (this.#closed || this.#options.file === '-') return;
    this.#reopening = true;
    this.#stream.reopen();
  }

  /** Writes pending lines as far as possible. */
  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      // `end()` would cancel the pending reopen and drop the unwritten lines.
      if (this.#reopening) this.#stream.reopen();
      else this.#stream.end();
      this.#expectProgress();
    }
    return this.#ended.promise;
  }

  #failed(error: NodeJS.ErrnoException): void {
    const { file, content, logger } = this.#options;
    if (!this.#failing) {
      logger.error({ error, file }, `${content} cannot be written`);
      this.#options.failing?.(true);
    }
    this.#failing = true;
    // sonic-boom forgets a reopen if the current write fails; after moving the log off a full disk it must
    // be repeated.
    if (this.#reopening && error.syscall === 'write') this.#stream.reopen();
    else if (this.#closed) this.#endOrGiveUp(error);
  }

  #endOrGiveUp(error: unknown): void {
    if (this.#reopening) {
      // If the file cannot be reopened, the lines go to the open one.
      this.#reopening = false;
      this.#stream.end();
      return;
    }
    this.#giveUp(error);
  }

  #giveUp(why: unknown): void {
    const left = this.#pending.giveUp();
    // The metrics will not be scraped again, so the number is logged.
    this.#losing = false;
    if (left > 0) this.#lose(left, why);
    this.#ended.resolve();
  }

  #expectProgress(): void {
    const before = this.#written;
    this.#options.clock.after(CLOSE_TIMEOUT, () => {
      if (this.#written === before) this.#giveUp('the file or pipe takes no more bytes');
      else this.#expectProgress();
    });
  }

  /** Logs the number of lost lines, once until all lines are written again. */
  #lose(lines: number, why: unknown): void {
    const { file, content, logger, lost } = this.#options;
    for (let line = 0; line < lines; line += 1) lost();
    this.#lost += lines;
    if (!this.#losing) logger.error({ file, why, events: this.#lost }, `${content} are lost`);
    this.#losing = true;
  }
}
