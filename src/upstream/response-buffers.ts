/**
 * Where the content of one answer waits until its client's connection has taken it: the same memory again and again, instead
 * of new memory for each piece. Buffers lie outside of V8's heap, and collecting them was over a fifth of the CPU of a 1 MB list.
 * Nothing is shared between answers: at the worst an answer could spoil itself.
 */
import type { Arrived } from '../http1/borrowed-chunk.ts';

/** Of one block, in bytes: as much as is read at once. */
const ROOM = 64 * 1024;
/** Smaller pieces are copied: most answers are one of them, and need no block. */
const WORTH_IT = 8 * 1024;
/** No more blocks are kept for later pieces. */
const MAX_IDLE = 2;

export interface Stored {
  readonly bytes: Buffer;
  /** To be called once, when nobody uses the bytes any more; where that is not known, they are forgotten with the answer. */
  readonly release?: () => void;
}

/** Written from its beginning on, and anew once all that stands in it was released. */
interface Block {
  readonly memory: Buffer;
  used: number;
  pieces: number;
}

export class AnswerMemory {
  readonly #idle: Block[] = [];
  #current: Block | undefined;

  store(piece: Arrived): Stored {
    const { length } = piece;
    if (length < WORTH_IT || length > ROOM) return { bytes: piece.copy() };
    const block = this.#blockFor(length);
    const bytes = piece.copyInto(block.memory.subarray(block.used));
    block.used += length;
    block.pieces += 1;
    return { bytes, release: () => this.#release(block) };
  }

  #blockFor(length: number): Block {
    if (this.#current === undefined || this.#current.used + length > ROOM)
      this.#current = this.#idle.pop() ?? { memory: Buffer.allocUnsafeSlow(ROOM), used: 0, pieces: 0 };
    return this.#current;
  }

  #release(block: Block): void {
    block.pieces -= 1;
    if (block.pieces > 0) return;
    block.used = 0;
    if (block !== this.#current && this.#idle.length < MAX_IDLE) this.#idle.push(block);
  }
}
