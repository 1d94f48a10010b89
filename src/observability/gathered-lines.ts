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
