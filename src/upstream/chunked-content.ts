/**
 * Takes the chunked transfer coding off an answer's content, byte by byte where framing stands and in whole slices where
 * content does. Extensions and trailers are read over, since nobody behind us asked for any, but must look like some: what
 * does not is a sign that a chunk ended elsewhere.
 * RFC 9112 §7.1.
 */
import { MalformedAnswer } from './answer-head.ts';
import { isToken } from './syntax.ts';

type Step =
  | 'size'
  | 'extension'
  | 'in-extension'
  | 'size-lf'
  | 'content'
  | 'content-cr'
  | 'content-lf'
  | 'trailer'
  | 'trailer-name'
  | 'trailer-value'
  | 'trailer-lf'
  | 'last-lf';

const TAB = 0x09;
const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
/** Far beyond any chunk, far below what a number counts exactly. */
const MAX_SIZE_DIGITS = 12;
/** Of one chunk's extensions, or of all trailers, in bytes. */
const MAX_UNREAD = 16 * 1024;

export class ChunkedContent {
  #step: Step = 'size';
  #digits = 0;
  /** Of the chunk under way. */
  #left = 0;
  /** Bytes read over since the last chunk. */
  #unread = 0;

  /**
   * @param onData called with each piece of content
   * @returns where in the bytes the content has ended; undefined where it goes on
   * @throws MalformedAnswer
   */
  read(bytes: Buffer, onData: (data: Buffer) => void): number | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#step === 'content') {
        const end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        if (this.#left === 0) this.#step = 'content-cr';
        onData(bytes.subarray(at, end));
        at = end;
        continue;
      }
      const byte = bytes[at] ?? 0;
      at += 1;
      if (this.#step === 'last-lf') {
        expect(byte, LF);
        return at;
      }
      this.#step = this.#next(byte);
    }
    return undefined;
  }

  #next(byte: number): Step {
    switch (this.#step) {
      case 'size':
        return this.#readSize(byte);
      case 'extension':
        return this.#readToken(byte, 'in-extension');
      case 'in-extension':
        if (byte === CR) return 'size-lf';
        return byte === SEMICOLON || byte === EQUALS
          ? this.#readOver(byte, 'extension')
          : this.#readToken(byte, 'in-extension');
      case 'size-lf':
        expect(byte, LF);
        this.#unread = 0;
        this.#digits = 0;
        return this.#left === 0 ? 'trailer' : 'content';
      case 'content-cr':
        expect(byte, CR);
        return 'content-lf';
      case 'content-lf':
        expect(byte, LF);
        return 'size';
      case 'trailer':
        return byte === CR ? 'last-lf' : this.#readToken(byte, 'trailer-name');
      case 'trailer-name':
        return byte === COLON ? this.#readOver(byte, 'trailer-value') : this.#readToken(byte, 'trailer-name');
      case 'trailer-value':
        return byte === CR ? 'trailer-lf' : this.#readOver(byte, 'trailer-value');
      case 'trailer-lf':
        expect(byte, LF);
        return 'trailer';
      case 'content':
      case 'last-lf':
        return this.#step;
    }
  }

  #readSize(byte: number): Step {
    const digit = hexDigit(byte);
    if (digit !== undefined) {
      this.#digits += 1;
      if (this.#digits > MAX_SIZE_DIGITS) throw new MalformedAnswer('a chunk of an impossible size');
      this.#left = this.#left * 16 + digit;
      return 'size';
    }
    if (this.#digits === 0) throw new MalformedAnswer('a chunk without a size');
    if (byte === SEMICOLON) return 'extension';
    expect(byte, CR);
    return 'size-lf';
  }

  #readToken(byte: number, step: Step): Step {
    if (!isToken(String.fromCharCode(byte)))
      throw new MalformedAnswer('neither an extension nor a trailer between chunks');
    return this.#readOver(byte, step);
  }

  #readOver(byte: number, step: Step): Step {
    this.#unread += 1;
    if (byte === 0x7f || (byte < 0x20 && byte !== TAB))
      throw new MalformedAnswer('a control character between chunks');
    if (this.#unread > MAX_UNREAD) throw new MalformedAnswer('more between chunks than is read');
    return step;
  }
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw new MalformedAnswer('a chunk that does not end where it said');
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : undefined;
}
