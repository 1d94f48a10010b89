/**
 * Buffers for the body of one response until its client's connection has taken it. The same memory is reused
 * instead of allocated for each chunk: garbage collection of buffers was over a fifth of the CPU of a 1 MB
 * list. No two responses share memory, so that a missing release cannot mix them.
 */
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';

/** Bytes of one block: as much as one read delivers. */
const BLOCK_BYTES = 64 * 1024;
/** Smaller chunks are better copied: most responses consist of one of them. */
export const MIN_STORED_BYTES = 8 * 1024;
const MAX_IDLE_BLOCKS = 2;

export interface StoredChunk {
  readonly bytes: Buffer;
  /** Must be called once the bytes are not used any more; without the call their block is not reused. */
  readonly release?: () => void;
}

/** Filled from its start, and again after all chunks in it were released. */
interface Block {
  readonly memory: Buffer;
  used: number;
  chunks: number;
}

export class ResponseBuffers {
  readonly #idle: Block[] = [];
  #current: Block | undefined;

  store(chunk: BorrowedChunk): StoredChunk {
    const { length } = chunk;
    if (length < MIN_STORED_BYTES || length > BLOCK_BYTES) return { bytes: chunk.copy() };
    const block = this.#blockFor(length);
    const bytes = chunk.copyInto(block.memory.subarray(block.used));
    block.used += length;
    block.chunks += 1;
    return { bytes, release: () => this.#release(block) };
  }

  #blockFor(length: number): Block {
    if (this.#current === undefined || this.#current.used + length > BLOCK_BYTES)
      this.#current = this.#idle.pop() ?? {
        memory: Buffer.allocUnsafeSlow(BLOCK_BYTES),
        used: 0,
        chunks: 0,
      };
    return this.#current;
  }

  #release(block: Block): void {
    block.chunks -= 1;
    if (block.chunks > 0) return;
    block.used = 0;
    if (block !== this.#current && this.#idle.length < MAX_IDLE_BLOCKS) this.#idle.push(block);
  }
}
