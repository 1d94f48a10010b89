/**
 * Tracks the frame boundaries of a WebSocket stream, so that a close frame can be sent between two frames.
 * Only heads are read, not the content of a frame. RFC 6455 §5.2.
 */

/** Close, unmasked, status 1001 (going away). RFC 6455 §5.5.1, §7.4.1. */
export const GOING_AWAY: Buffer = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

const LONGEST_HEAD = 14;

export class WebSocketFrames {
  /** The bytes of a head that is not complete. */
  #head = Buffer.alloc(0);
  /** Bytes of the frame under way that are still to come. */
  #left = 0;

  /** Whether what was read so far ends with a frame. */
  get complete(): boolean {
    return this.#left === 0 && this.#head.length === 0;
  }

  read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) rest = this.#left > 0 ? this.#skip(rest) : this.#readHead(rest);
  }

  #skip(bytes: Buffer): Buffer {
    const size = Math.min(this.#left, bytes.length);
    this.#left -= size;
    return bytes.subarray(size);
  }

  #readHead(bytes: Buffer): Buffer {
    const begun = this.#head.length;
    const head = Buffer.concat([this.#head, bytes.subarray(0, LONGEST_HEAD - begun)]);
    const frame = frameOf(head);
    if (frame === undefined) {
      this.#head = head;
      return bytes.subarray(head.length - begun);
    }
    this.#head = Buffer.alloc(0);
    this.#left = frame.payload;
    return bytes.subarray(frame.head - begun);
  }
}

/** @returns undefined if more bytes are needed */
function frameOf(head: Buffer): { readonly head: number; readonly payload: number } | undefined {
  const [, second] = head;
  if (second === undefined) return undefined;
  const mask = second & 0x80 ? 4 : 0;
  const length = second & 0x7f;
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
  const size = 2 + extended + mask;
  if (head.length < size) return undefined;
  if (extended === 0) return { head: size, payload: length };
  const payload = extended === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
  return { head: size, payload };
}
