/**
 * Where audit lines go: a file or standard output, written in the background and in order by sonic-boom (pino's
 * own writer, but without pino's hook at the process's exit, which throws where the file never opened). Lines of some
 * milliseconds go out in one write, since a write costs more than a line. A log that cannot be written is said loudly,
 * once until it can be again, and what is lost is counted; it does not stop the API of an organisation.
 */
import sonicBoom from 'sonic-boom';
import type { AuditSink } from '../audit/audit-log.ts';
import type { Logger } from '../lib/logger.ts';

export interface AuditFile extends AuditSink {
  /** Opens the file anew: after a log rotation. */
  reopen(): void;
  /** Writes out what is pending. */
  close(): Promise<void>;
}

export interface AuditFileOptions {
  /** `-` is standard output. */
  readonly file: string;
  readonly logger: Logger;
  /** Told of every line that could not be kept. */
  readonly lost: () => void;
}

/** Lines waiting for a slow disk, in bytes; beyond it they are lost. */
const MAX_PENDING = 64 * 1024 * 1024;
/** How long a line waits for others, in milliseconds, and how many characters may wait. */
const GATHER_MS = 5;
const GATHER_CHARACTERS = 256 * 1024;

export function createAuditFile({ file, logger, lost }: AuditFileOptions): AuditFile {
  const stream = new sonicBoom.SonicBoom({
    dest: file === '-' ? 1 : file,
    append: true,
    mkdir: true,
    sync: false,
    maxLength: MAX_PENDING,
    mode: 0o600,
  });
  let closed = false;
  let failing = false;
  let losing = false;
  let gathered: string[] = [];
  let characters = 0;
  let timer: NodeJS.Timeout | undefined;

  function lose(events: number, why: unknown): void {
    for (let event = 0; event < events; event += 1) lost();
    if (!losing) logger.error({ file, why }, 'audit events are lost');
    losing = true;
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (gathered.length === 0) return;
    const lines = gathered;
    gathered = [];
    characters = 0;
    try {
      stream.write(`${lines.join('\n')}\n`);
    } catch (error) {
      // It throws once it is closed, or where the file was never opened.
      lose(lines.length, error);
    }
  }

  stream.on('error', (error: Error) => {
    if (!failing) logger.error({ error, file }, 'the audit log cannot be written');
    failing = true;
  });
  stream.on('drop', (dropped: string) => {
    lose(dropped.split('\n').length - 1, 'the audit log is slower than the requests');
  });
  stream.on('drain', () => {
    failing = false;
    losing = false;
  });
  return {
    write(line) {
      gathered.push(line);
      characters += line.length;
      if (characters >= GATHER_CHARACTERS) flush();
      else timer ??= setTimeout(flush, GATHER_MS);
    },
    reopen() {
      if (closed) return;
      flush();
      if (file !== '-') stream.reopen();
    },
    close: () =>
      new Promise((resolve) => {
        flush();
        closed = true;
        stream.once('close', resolve);
        stream.once('error', () => resolve());
        stream.end();
      }),
  };
}
