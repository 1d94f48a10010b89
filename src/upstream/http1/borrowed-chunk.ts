/**
 * A piece of a response body in the receive buffer that all connections share. The next read, for another
 * request, overwrites the buffer: therefore the bytes are only handed out as a copy, and not at all after the
 * release.
 */
export class BorrowedChunk {
  #bytes: Buffer | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Calls `use` and releases the chunk, also if `use` throws. */
  static lend(bytes: Buffer, use: (chunk: BorrowedChunk) => void): void {
    const chunk = new BorrowedChunk(bytes);
    try {
      use(chunk);
    } finally {
      chunk.release();
    }
  }

  /** The length in bytes. @throws Error after the release, as the other methods do */
  get length(): number {
    return this.#borrowed().length;
  }

  copy(): Buffer {
    return Buffer.from(this.#borrowed());
  }

  /**
   * @param memory at least as long as the chunk
   * @returns the part of it that was written
   */
  copyInto(memory: Buffer): Buffer {
    const bytes = this.#borrowed();
    if (bytes.length > memory.length) throw new Error('the chunk does not fit');
    bytes.copy(memory);
    return memory.subarray(0, bytes.length);
  }

  release(): void {
    this.#bytes = undefined;
  }

  #borrowed(): Buffer {
    if (this.#bytes === undefined) throw new Error('the chunk was released');
    return this.#bytes;
  }
}
