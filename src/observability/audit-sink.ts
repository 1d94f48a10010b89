/**
 * Where audit lines go. Those of some milliseconds go out in one write, since a write costs more than a line; a process that
 * is killed loses them. A log that cannot be written is said loudly, once until it can be again, and what is lost is counted;
 * it does not stop the API of an organisation.
 */
import type { AuditSink } from '../audit/audit-log.ts';
import type { Timer } from '../lib/clock.ts';
import { type AuditStreamOptions, openAuditStream } from './audit-stream.ts';
import { GatheredLines } from './gathered-lines.ts';

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
