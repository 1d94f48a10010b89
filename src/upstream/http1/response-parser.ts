/**
 * Parses the responses of one connection, each to the request sent before it. Bytes that belong to no request
 * are an error and never buffered: the next request, of another user, would take them for its response.
 * RFC 9112 §6.3, §9.3; RFC 9110 §15.2.
 */
import { BorrowedChunk } from './borrowed-chunk.ts';
import { ChunkedDecoder } from './chunked-decoder.ts';
import { malformedResponse } from './errors.ts';
import { isInterim, parseResponseHead, type ResponseHead } from './response-head.ts';

/** Receives the parts of a response. Each method may close the parser. */
export interface ResponseParts {
  onHead(head: ResponseHead): void;
  onData(chunk: BorrowedChunk): void;
  onEnd(head: ResponseHead): void;
}

/** Bytes of all heads of a response together, interim ones included. */
export const MAX_HEADER_BYTES = 64 * 1024;

const HEAD_END = Buffer.from('\r\n\r\n');
const EMPTY = Buffer.alloc(0);

interface ReadingHead {
  readonly phase: 'head';
  /** The method of the request. */
  readonly method: string;
  /** The bytes of a head that is not complete. */
  partial: Buffer;
  /** Bytes of the interim heads before this one. */
  bytesBefore: number;
}

interface ReadingBody {
  readonly phase: 'body';
  readonly head: ResponseHead;
  /** Bytes to come. */
  left: number;
}

type State =
  /** No request is under way. */
  | { readonly phase: 'idle' }
  | ReadingHead
  | ReadingBody
  | { readonly phase: 'chunks'; readonly head: ResponseHead; readonly decoder: ChunkedDecoder }
  | { readonly phase: 'until-close'; readonly head: ResponseHead }
  | { readonly phase: 'closed' };

const IDLE: State = { phase: 'idle' };
const CLOSED: State = { phase: 'closed' };

export class ResponseParser {
  readonly #parts: ResponseParts;
  #state: State = IDLE;

  constructor(parts: ResponseParts) {
    this.#parts = parts;
  }

  /** A request with this method is sent: the bytes that follow are its response. */
  expect(method: string): void {
    if (!this.#isClosed) this.#state = { phase: 'head', method, partial: EMPTY, bytesBefore: 0 };
  }

  /** Ignores all further bytes. */
  close(): void {
    this.#state = CLOSED;
  }

  /**
   * @param bytes the parser keeps no reference to them
   * @throws Http1Error MALFORMED_RESPONSE, and what the parts' receiver throws
   */
  read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) {
      const state = this.#state;
      switch (state.phase) {
        case 'idle':
          throw malformedResponse('bytes that belong to no request');
        case 'head':
          rest = this.#readHead(rest, state);
          break;
        case 'body':
          rest = this.#readBody(rest, state);
          break;
        case 'chunks':
          rest = this.#readChunks(rest, state.decoder, state.head);
          break;
        case 'until-close':
          this.#emit(rest);
          return;
        case 'closed':
          return;
      }
    }
  }

  /** The server has ended the connection: this completes a response without other framing. */
  finish(): void {
    const state = this.#state;
    if (state.phase === 'until-close') this.#end(state.head);
  }

  /** @returns the bytes after the head */
  #readHead(received: Buffer, state: ReadingHead): Buffer {
    const { partial } = state;
    const bytes = partial.length === 0 ? received : Buffer.concat([partial, received]);
    const end = bytes.indexOf(HEAD_END, Math.max(0, partial.length - 3));
    const size = end === -1 ? bytes.length : end + HEAD_END.length;
    if (state.bytesBefore + size > MAX_HEADER_BYTES) throw malformedResponse('a head that is too long');
    if (end === -1) {
      state.partial = bytes === received ? Buffer.from(bytes) : bytes;
      return EMPTY;
    }
    state.partial = EMPTY;
    state.bytesBefore += size;
    this.#begin(parseResponseHead(bytes.toString('latin1', 0, end), state.method));
    return bytes.subarray(size);
  }

  #begin(head: ResponseHead): void {
    if (head.status === 101) throw malformedResponse('a switch to another protocol that was not requested');
    if (isInterim(head.status)) {
      if (!head.persistent) throw malformedResponse('an interim response that ends the connection');
      return;
    }
    this.#parts.onHead(head);
    if (this.#isClosed) return;
    const { framing } = head;
    if (framing === 0) this.#end(head);
    else if (framing === 'chunked') this.#state = { phase: 'chunks', head, decoder: new ChunkedDecoder() };
    else if (framing === 'until-close') this.#state = { phase: 'until-close', head };
    else this.#state = { phase: 'body', head, left: framing };
  }

  /** @returns the bytes after the body */
  #readBody(bytes: Buffer, state: ReadingBody): Buffer {
    const size = Math.min(state.left, bytes.length);
    state.left -= size;
    this.#emit(size === bytes.length ? bytes : bytes.subarray(0, size));
    if (state.left === 0 && !this.#isClosed) this.#end(state.head);
    return size === bytes.length ? EMPTY : bytes.subarray(size);
  }

  /** @returns the bytes after the last chunk */
  #readChunks(bytes: Buffer, decoder: ChunkedDecoder, head: ResponseHead): Buffer {
    const end = decoder.read(bytes, this.#onDecoded);
    if (end === undefined || this.#isClosed) return EMPTY;
    this.#end(head);
    return bytes.subarray(end);
  }

  readonly #onDecoded = (data: Buffer): void => {
    if (!this.#isClosed) this.#emit(data);
  };

  #emit(data: Buffer): void {
    BorrowedChunk.lend(data, this.#onLent);
  }

  readonly #onLent = (chunk: BorrowedChunk): void => this.#parts.onData(chunk);

  #end(head: ResponseHead): void {
    this.#state = IDLE;
    this.#parts.onEnd(head);
  }

  get #isClosed(): boolean {
    return this.#state.phase === 'closed';
  }
}
