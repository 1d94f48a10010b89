/**
 * Decodes the chunked transfer coding, in whole slices. Extensions and trailers are skipped, since nothing
 * that Stonegate forwards has a use for them, but must be valid: if not, a chunk probably ended elsewhere.
 * RFC 9112 §7.1.
 */
import { isToken } from '../../lib/header-list.ts';
import { malformedResponse } from './errors.ts';

type Step =
  | 'size'
  | 'extension'
  | 'in-extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
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
/** More than any chunk needs, and a number counts that far exactly. */
const MAX_SIZE_DIGITS = 12;
/** Bytes of one chunk's extensions, or of all trailers. */
const MAX_SKIPPED = 16 * 1024;

export class ChunkedDecoder {
  #step: Step = 'size';
  #digits = 0;
  /** Bytes that are left of the current chunk. */
  #left = 0;
  /** Bytes of extensions or trailers since the last chunk. */
  #skipped = 0;

  /**
   * @param onData called with each slice of the body
   * @returns the offset at which the body has ended; undefined if it continues
   * @throws Http1Error MALFORMED_RESPONSE
   */
  read(bytes: Buffer, onData: (data: Buffer) => void): number | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#step === 'data') {
        const end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        if (this.#left === 0) this.#step = 'data-cr';
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
          ? this.#skip(byte, 'extension')
          : this.#readToken(byte, 'in-extension');
      case 'size-lf':
        expect(byte, LF);
        this.#skipped = 0;
        this.#digits = 0;
        return this.#left === 0 ? 'trailer' : 'data';
      case 'data-cr':
        expect(byte, CR);
        return 'data-lf';
      case 'data-lf':
        expect(byte, LF);
        return 'size';
      case 'trailer':
        return byte === CR ? 'last-lf' : this.#readToken(byte, 'trailer-name');
      case 'trailer-name':
        return byte === COLON ? this.#skip(byte, 'trailer-value') : this.#readToken(byte, 'trailer-name');
      case 'trailer-value':
        return byte === CR ? 'trailer-lf' : this.#skip(byte, 'trailer-value');
      case 'trailer-lf':
        expect(byte, LF);
        return 'trailer';
      case 'data':
      case 'last-lf':
        return this.#step;
    }
  }

  #readSize(byte: number): Step {
    const digit = hexDigit(byte);
    if (digit !== undefined) {
      this.#digits += 1;
      if (this.#digits > MAX_SIZE_DIGITS) throw malformedResponse('a chunk of an impossible size');
      this.#left = this.#left * 16 + digit;
      return 'size';
    }
    if (this.#digits === 0) throw malformedResponse('a chunk without a size');
    if (byte === SEMICOLON) return 'extension';
    expect(byte, CR);
    return 'size-lf';
  }

  #readToken(byte: number, step: Step): Step {
    if (!isToken(String.fromCharCode(byte))) throw malformedResponse('an invalid chunk extension or trailer');
    return this.#skip(byte, step);
  }

  #skip(byte: number, step: Step): Step {
    this.#skipped += 1;
    if (byte === 0x7f || (byte < 0x20 && byte !== TAB))
      throw malformedResponse('a control character in a chunk extension or trailer');
    if (this.#skipped > MAX_SKIPPED)
      throw malformedResponse('chunk extensions or trailers that are too long');
    return step;
  }
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw malformedResponse('a chunk that does not end as its size says');
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : undefined;
}
