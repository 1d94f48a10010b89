/**
 * What was handed over to be written and is not written yet, so that it can be said how many lines are lost where it never
 * will be: whoever writes knows bytes only, and a disk becomes full in the midst of a line.
 */

const LINE_FEED = 0x0a;

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
