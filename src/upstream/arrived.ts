/**
 * A piece of an answer's content as it arrives: it stands where the bytes of all connections arrive, and the next read, for
 * somebody else, writes over it. So nobody is given the bytes but as a copy, and none can be had once the piece has passed.
 */
export class Arrived {
  #bytes: Buffer | undefined;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @param take called at once; what it throws is thrown */
  static lend(bytes: Buffer, take: (piece: Arrived) => void): void {
    const piece = new Arrived(bytes);
    try {
      take(piece);
    } finally {
      piece.#bytes = undefined;
    }
  }

  /** @throws Error where the piece has passed, as all here do */
  get length(): number {
    return this.#standing().length;
  }

  /** In memory of its own. */
  copy(): Buffer {
    return Buffer.from(this.#standing());
  }

  /**
   * @param memory at least as long
   * @returns the part of it that was written
   */
  copyInto(memory: Buffer): Buffer {
    const bytes = this.#standing();
    if (bytes.length > memory.length) throw new Error('there is no room for the piece');
    bytes.copy(memory);
    return memory.subarray(0, bytes.length);
  }

  #standing(): Buffer {
    if (this.#bytes === undefined) throw new Error('the piece has passed');
    return this.#bytes;
  }
}
