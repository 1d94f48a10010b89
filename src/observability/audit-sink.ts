/**
 * Where audit lines go: a file or standard output, written in the background and in order by sonic-boom (pino's
 * own writer, but without pino's hook at the process's exit, which throws where the file never opened). Lines of some
 * milliseconds go out in one write, since a write costs more than a line; a process that is killed loses them. A log that
 * cannot be written is said loudly, once until it can be again, and what is lost is counted; it does not stop the API of
 * an organisation.
 */
import { once } from 'node:events';
import sonicBoom from 'sonic-boom';
import type { AuditSink } from '../audit/audit-log.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { GatheredLines } from './gathered-lines.ts';
import { PendingLines } from './pending-lines.ts';

/** Its types know only the content mode of strings. */
declare module 'sonic-boom' {
  interface SonicBoom {
    write(chunk: Buffer): boolean;
  }
}

export interface AuditFile extends AuditSink {
  /** Opens the file anew: after a log rotation. */
  reopen(): void;
  /** Writes out what is pending; what cannot be written is lost, as at any other time. */
  close(): Promise<void>;
}

export interface AuditFileOptions {
  /** `-` is standard output. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of every line that could not be kept. */
  readonly lost: () => void;
}

/** Lines waiting for a slow disk, in bytes; beyond it they are lost. */
const MAX_PENDING = 64 * 1024 * 1024;
/** How long a line waits for others, in milliseconds, and how many bytes may wait. */
const GATHER_MS = 20;
const GATHER_BYTES = 256 * 1024;
/**
 * Milliseconds in which at least a byte must be written at the end. A pipe that nobody reads, or a hung file system, never
 * fails: whoever ends the process would end it by force, and nobody had said what is lost.
 */
const END_PATIENCE = 5_000;

/** @throws Error where the file cannot be opened: nothing is served that nobody would know of */
export async function createAuditFile({ file, clock, logger, lost }: AuditFileOptions): Promise<AuditFile> {
  const stream = new sonicBoom.SonicBoom({
    dest: file === '-' ? 1 : file,
    append: true,
    mkdir: true,
    sync: false,
    contentMode: 'buffer',
    maxLength: MAX_PENDING,
    mode: 0o600,
  });
  await once(stream, 'ready');
  let closed = false;
  let failing = false;
  let losing = false;
  let reopening = false;
  /** Bytes. */
  let written = 0;
  const ended = Promise.withResolvers<void>();
  const gathered = new GatheredLines(GATHER_BYTES);
  const pending = new PendingLines();
  let timer: Timer | undefined;

  function lose(events: number, why: unknown): void {
    for (let event = 0; event < events; event += 1) lost();
    if (!losing) logger.error({ file, why, events }, 'audit events are lost');
    losing = true;
  }

  function flush(): void {
    timer?.cancel();
    timer = undefined;
    if (gathered.count > 0) send(gathered.take());
  }

  function send(chunk: Buffer): void {
    pending.add(chunk);
    try {
      stream.write(chunk);
    } catch (error) {
      // It throws once it is closed.
      lose(pending.takeBack(), error);
    }
  }

  function endOrGiveUp(error: unknown): void {
    if (reopening) {
      // The file it has will do, where it cannot be opened anew.
      reopening = false;
      stream.end();
      return;
    }
    giveUp(error);
  }

  function giveUp(why: unknown): void {
    const left = pending.giveUp();
    // Soon nobody can ask the metrics any more: the log is to have their number.
    losing = false;
    if (left > 0) lose(left, why);
    ended.resolve();
  }

  function expectProgress(): void {
    const before = written;
    clock.after(END_PATIENCE, () => {
      if (written === before) giveUp('nothing takes them');
      else expectProgress();
    });
  }

  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (!failing) logger.error({ error, file }, 'the audit log cannot be written');
    failing = true;
    // It waits for the write under way, and forgets it where that fails: a log moved off a full disk would stay there.
    if (reopening && error.syscall === 'write') stream.reopen();
    else if (closed) endOrGiveUp(error);
  });
  stream.on('ready', () => {
    reopening = false;
    if (closed) stream.end();
  });
  stream.on('close', () => ended.resolve());
  stream.on('write', (bytes: number) => {
    written += bytes;
    pending.wrote(bytes);
  });
  stream.on('drop', () => lose(pending.takeBack(), 'the audit log is slower than the requests'));
  stream.on('drain', () => {
    gathered.allWritten();
    failing = false;
    losing = false;
  });
  return {
    write(...parts) {
      let length = 1;
      for (const part of parts) length += part.length;
      if (!gathered.fits(length)) flush();
      if (length > GATHER_BYTES) {
        send(Buffer.from(`${parts.join('')}\n`, 'latin1'));
        return;
      }
      gathered.add(parts);
      timer ??= clock.after(GATHER_MS, flush);
    },
    reopen() {
      if (closed) return;
      flush();
      if (file === '-') return;
      reopening = true;
      stream.reopen();
    },
    close() {
      if (!closed) {
        flush();
        closed = true;
        // Told to end, it would forget that it is to be opened anew, and what is pending with that.
        if (reopening) stream.reopen();
        else stream.end();
        expectProgress();
      }
      return ended.promise;
    },
  };
}
