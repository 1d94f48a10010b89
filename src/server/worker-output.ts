/**
 * What the workers write to standard output, the audit log, passed on by the primary in whole lines. Several processes
 * on one pipe cut into each other's lines: it takes no more than PIPE_BUF, 4096 bytes, in one piece. POSIX write(2).
 */
import { Transform, type Writable } from 'node:stream';

const LINE_FEED = 0x0a;

/** Takes bytes as they come, and gives whole lines; what is no line at the end becomes one. */
function wholeLines(): Transform {
  let begun: Buffer[] = [];
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const end = chunk.lastIndexOf(LINE_FEED) + 1;
      if (end > 0) {
        this.push(Buffer.concat([...begun, chunk.subarray(0, end)]));
        begun = [];
      }
      if (end < chunk.length) begun.push(chunk.subarray(end));
      done();
    },
    flush(done) {
      // A worker that was killed in the midst of a line must not spoil the next one.
      if (begun.length > 0) this.push(Buffer.concat([...begun, Buffer.of(LINE_FEED)]));
      done();
    },
  });
}

/**
 * @param from a worker's standard output
 * @param to shared by all of them; stays open
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
