/**
 * Takes bytes as they arrive and gives them back line by line. A line has a bound.
 */
import { TooLarge } from '../limits/byte-budget.ts';

const LINE_FEED = 0x0a;

export class LineSplitter {
  readonly #maxBytes: number;
  #pending: Buffer[] = [];
  #bytes = 0;

  /** @param maxBytes of a line */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * @returns the lines that are complete now, without their line feeds; empty lines are left out
   * @throws TooLarge
   */
  take(bytes: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
      this.#push(bytes.subarray(from, end));
      if (this.#bytes > 0) lines.push(Buffer.concat(this.#pending));
      this.#pending = [];
      this.#bytes = 0;
      from = end + 1;
    }
    this.#push(bytes.subarray(from));
    return lines;
  }

  /** The bytes of the line that is not complete. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /** Whether bytes of a line have arrived whose end has not. */
  get isWithinLine(): boolean {
    return this.#bytes > 0;
  }

  #push(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) throw new TooLarge(`a line is over ${this.#maxBytes} bytes`);
    this.#pending.push(piece);
  }
}
