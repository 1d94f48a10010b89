/**
 * Where audit lines go: a file or standard output, written in the background and in order by sonic-boom (pino's
 * own writer, but without pino's hook at the process's exit, which throws where the file never opened). A log that
 * cannot be written is said loudly, once until it can be again, and what is lost is counted; it does not stop the API of
 * an organisation.
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
  stream.on('error', (error: Error) => {
    if (!failing) logger.error({ error, file }, 'the audit log cannot be written');
    failing = true;
  });
  stream.on('drop', () => {
    lost();
    if (!losing) logger.error({ file }, 'audit events are lost: the audit log is slower than the requests');
    losing = true;
  });
  stream.on('drain', () => {
    failing = false;
    losing = false;
  });
  return {
    write(line) {
      stream.write(`${line}\n`);
    },
    reopen() {
      if (file !== '-' && !closed) stream.reopen();
    },
    close: () =>
      new Promise((resolve) => {
        closed = true;
        stream.once('close', resolve);
        stream.once('error', () => resolve());
        stream.end();
      }),
  };
}
