/**
 * Buffers for audit lines: a batch that is written at once, and the lines that are not yet written, so that
 * lost lines can be counted.
 */

const LINE_FEED = 0x0a;

/**
 * Encodes lines into a buffer as they come; encoding one long string at each write would allocate it again.
 * Two buffers alternate: one is filled while the other is written. If both are in use, the batch is copied.
 */
export class LineBatch {
  /** Size of the batch, in bytes. */
  readonly #room: number;
  #filling: Buffer;
  #written: Buffer;
  /** Whether the other buffer may still be in use. */
  #writing = false;
  #bytes = 0;

  constructor(room: number) {
    this.#room = room;
    this.#filling = Buffer.allocUnsafeSlow(room);
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
      if (part !== '') this.#bytes += this.#filling.write(part, this.#bytes, 'latin1');
    this.#filling[this.#bytes] = LINE_FEED;
    this.#bytes += 1;
  }

  /** Ends the batch. The buffer is not changed until `allWritten`. */
  take(): Buffer {
    const taken = this.#filling.subarray(0, this.#bytes);
    this.#bytes = 0;
    if (this.#writing) return Buffer.from(taken);
    this.#writing = true;
    [this.#filling, this.#written] = [this.#written, this.#filling];
    return taken;
  }

  /** No buffer that was taken is in use. */
  allWritten(): void {
    this.#writing = false;
  }
}

/** sonic-boom counts bytes only, and a disk may become full in the middle of a line. */
export class UnwrittenLines {
  /** Whole lines each; a part of the first may be written. */
  readonly #chunks: Buffer[] = [];
  #written = 0;

  /** @param chunk whole lines, not changed until they are written */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  /** Removes the last chunk. @returns the number of its lines */
  removeLast(): number {
    return linesIn(this.#chunks.pop());
  }

  /** Further bytes have been written, in the order of the chunks. */
  confirmWritten(bytes: number): void {
    this.#written += bytes;
    for (let [first] = this.#chunks; first !== undefined; [first] = this.#chunks) {
      if (this.#written < first.length) return;
      this.#written -= first.length;
      this.#chunks.shift();
    }
    // Chunks that were given up may be written later; that must not count for newer chunks.
    this.#written = 0;
  }

  /** Removes all chunks. @returns the number of lines not completely written */
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
