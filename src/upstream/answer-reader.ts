/**
 * Reads the answers of one connection, each to the request that was sent before it. Bytes that no request asked for are
 * never kept for the next one: that would be somebody else's answer.
 * RFC 9112 §6.3, §9.3; RFC 9110 §15.2.
 */
import { type AnswerHead, isInterim, MalformedAnswer, parseAnswerHead } from './answer-head.ts';
import { Arrived } from './arrived.ts';
import { ChunkedContent } from './chunked-content.ts';

/** Where an answer goes. Each of them may close the reader. */
export interface AnswerParts {
  onHead(head: AnswerHead): void;
  onData(piece: Arrived): void;
  onEnd(): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

export class AnswerReader {
  readonly #parts: AnswerParts;
  readonly #maxHeadBytes: number;
  /** Of the request under way; undefined while there is none. */
  #method: string | undefined;
  /** Of a head whose end has not come. */
  #begun: Buffer | undefined;
  /** Of all heads of this answer, interim ones too. */
  #headBytes = 0;
  #head: AnswerHead | undefined;
  /** Of content whose length is known. */
  #left = 0;
  #chunked: ChunkedContent | undefined;
  #closed = false;

  /** @param maxHeadBytes of an answer's heads together */
  constructor(parts: AnswerParts, maxHeadBytes: number) {
    this.#parts = parts;
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** A request has been sent: what comes is its answer. */
  expect(method: string): void {
    this.#method = method;
  }

  /** Nothing is told of what comes from now on. */
  close(): void {
    this.#closed = true;
    this.#begun = undefined;
  }

  /**
   * @param bytes nothing is kept of them but copies
   * @throws MalformedAnswer, and what the parts throw
   */
  read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0 && !this.#closed)
      rest = this.#head === undefined ? this.#readHead(rest) : this.#readContent(rest, this.#head);
  }

  /** The connection has ended, and with it an answer that ends so. */
  finish(): void {
    if (this.#head?.framing === 'until-close' && !this.#closed) this.#end();
  }

  /** @returns what is behind the head */
  #readHead(received: Buffer): Buffer {
    if (this.#method === undefined) throw new MalformedAnswer('bytes that no request asked for');
    const begun = this.#begun;
    const bytes = begun === undefined ? received : Buffer.concat([begun, received]);
    const end = bytes.indexOf(HEAD_END, begun === undefined ? 0 : Math.max(0, begun.length - 3));
    const size = end === -1 ? bytes.length : end + HEAD_END.length;
    if (this.#headBytes + size > this.#maxHeadBytes) throw new MalformedAnswer('a head that is too long');
    if (end === -1) {
      this.#begun = begun === undefined ? Buffer.from(bytes) : bytes;
      return NOTHING;
    }
    this.#begun = undefined;
    this.#headBytes += size;
    this.#begin(parseAnswerHead(bytes.toString('latin1', 0, end), this.#method));
    return bytes.subarray(size);
  }

  #begin(head: AnswerHead): void {
    if (head.status === 101) throw new MalformedAnswer('another protocol, which nobody asked for');
    if (isInterim(head.status)) {
      if (!head.persistent) throw new MalformedAnswer('an interim answer that ends the connection');
      return;
    }
    this.#head = head;
    this.#parts.onHead(head);
    if (this.#closed) return;
    if (head.framing === 0) this.#end();
    else if (head.framing === 'chunked') this.#chunked = new ChunkedContent();
    else if (head.framing !== 'until-close') this.#left = head.framing;
  }

  /** @returns what is behind the content */
  #readContent(bytes: Buffer, { framing }: AnswerHead): Buffer {
    if (framing === 'until-close') {
      this.#tell(bytes);
      return NOTHING;
    }
    if (this.#chunked !== undefined) {
      const end = this.#chunked.read(bytes, this.#onChunk);
      if (end === undefined || this.#closed) return NOTHING;
      this.#end();
      return bytes.subarray(end);
    }
    const size = Math.min(this.#left, bytes.length);
    this.#left -= size;
    this.#tell(size === bytes.length ? bytes : bytes.subarray(0, size));
    if (this.#left === 0 && !this.#closed) this.#end();
    return size === bytes.length ? NOTHING : bytes.subarray(size);
  }

  readonly #onChunk = (data: Buffer): void => {
    if (!this.#closed) this.#tell(data);
  };

  #tell(content: Buffer): void {
    Arrived.lend(content, this.#lent);
  }

  readonly #lent = (piece: Arrived): void => this.#parts.onData(piece);

  #end(): void {
    this.#method = undefined;
    this.#head = undefined;
    this.#headBytes = 0;
    this.#chunked = undefined;
    this.#parts.onEnd();
  }
}
