/**
 * Lines that are gathered to be written at once. They are laid out as bytes from the start: one long text would be laid out
 * anew, in fresh memory, each time it is written. There are two buffers by turns, of which one gathers while the other is
 * written; what has to wait for a slow disk beyond that is copied, so that it holds no more memory than it is counted as.
 */

const LINE_FEED = 0x0a;

export class GatheredLines {
  /** Bytes that may be gathered. */
  readonly #room: number;
  #gathering: Buffer;
  #written: Buffer;
  /** Whether the other buffer may still be in use. */
  #writing = false;
  #bytes = 0;

  constructor(room: number) {
    this.#room = room;
    this.#gathering = Buffer.allocUnsafeSlow(room);
    this.#written = Buffer.allocUnsafeSlow(room);
  }

  get empty(): boolean {
    return this.#bytes === 0;
  }

  /** @param bytes of a line with its line feed */
  fits(bytes: number): boolean {
    return this.#bytes + bytes <= this.#room;
  }

  /** @param parts of one line that fits, in ASCII, without the line feed */
  add(parts: readonly string[]): void {
    for (const part of parts)
      if (part !== '') this.#bytes += this.#gathering.write(part, this.#bytes, 'latin1');
    this.#gathering[this.#bytes] = LINE_FEED;
    this.#bytes += 1;
  }

  /** What is gathered; it stays as it is until `allWritten`. */
  take(): Buffer {
    const taken = this.#gathering.subarray(0, this.#bytes);
    this.#bytes = 0;
    if (this.#writing) return Buffer.from(taken);
    this.#writing = true;
    [this.#gathering, this.#written] = [this.#written, this.#gathering];
    return taken;
  }

  /** Nothing that was taken is in use any more. */
  allWritten(): void {
    this.#writing = false;
  }
}

// FROM src/observability/pending-lines.ts
/*!
 * What was handed over to be written and is not written yet, so that it can be said how many lines are lost where it never
 * will be: whoever writes knows bytes only, and a disk becomes full in the midst of a line.
 */

export class PendingLines {
  /** Whole lines each; of the first, some bytes may be written. */
  readonly #chunks: Buffer[] = [];
  #written = 0;

  /** @param chunk whole lines, which stay as they are until they are written */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  /** @returns how many lines were added last, which are not pending any more */
  takeBack(): number {
    return linesIn(this.#chunks.pop());
  }

  /** So many more bytes are written, in the order in which they were added. */
  wrote(bytes: number): void {
    this.#written += bytes;
    for (let [first] = this.#chunks; first !== undefined; [first] = this.#chunks) {
      if (this.#written < first.length) return;
      this.#written -= first.length;
      this.#chunks.shift();
    }
    // What was given up may be written after all: those who come later are no shorter for it.
    this.#written = 0;
  }

  /** @returns how many lines are not written to their end, none of which are pending any more */
  giveUp(): number {
    const [first, ...others] = this.#chunks.splice(0);
    const left = [first?.subarray(this.#written), ...others];
    this.#written = 0;
    return left.reduce((lines, chunk) => lines + linesIn(chunk), 0);
  }
}

function linesIn(chunk: Buffer | undefined): number {
  if (chunk === undefined) return 0;
  let lines = 0;
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}
