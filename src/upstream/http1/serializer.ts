/**
 * Writes requests: the head as one string, and a streamed body with exactly the length its head declares.
 * Nothing in a field may end the field, since the server would take what follows for a field or a request of
 * Stonegate's own. RFC 9112 §3, §5, §6, §7.1; RFC 9110 §5.5, §5.6.2, §8.6.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { type HeaderList, isFieldValue, isToken } from '../../lib/header-list.ts';
import { memoize } from '../../lib/memoize.ts';
import { Http1Error } from './errors.ts';

/** How the body's length is declared: no body, chunked, or in bytes. */
export type RequestFraming = 'none' | 'chunked' | number;

/**
 * @param host value of the Host field
 * @param token of the Authorization field that is added; none if undefined
 * @returns the head, to be sent in latin1
 * @throws Http1Error REQUEST_INVALID, and what `isSent` throws
 */
export type HeadSerializer = (
  method: string,
  target: string,
  host: string,
  fields: HeaderList,
  token: string | undefined,
  framing: RequestFraming,
) => string;

const TARGET = /^[\x21-\x7e]+$/;
/** Methods whose requests usually have a body: without one, they declare a length of 0 (RFC 9110 §8.6). */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
/** What the serializer itself writes: a second one would be read in two ways. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'transfer-encoding',
]);

/** The response to a CONNECT is followed by something other than HTTP. */
const isMethod = memoize((method: string) => isToken(method) && method !== 'CONNECT');

interface FieldStart {
  readonly rule: 'pass' | 'drop' | 'invalid';
  /** The end of the line before, the name and the colon. */
  readonly text: string;
}

/** @param isSent called with each field name and its result cached, unless it throws */
export function createHeadSerializer(isSent: (name: string) => boolean): HeadSerializer {
  const fieldStart = memoize((name: string): FieldStart => {
    const valid = isToken(name) && !OWN_FIELDS.has(name.toLowerCase());
    return { rule: !isSent(name) ? 'drop' : valid ? 'pass' : 'invalid', text: `\r\n${name}: ` };
  });
  return (method, target, host, fields, token, framing) => {
    if (!isMethod(method) || !TARGET.test(target)) throw invalidRequest();
    let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive`;
    for (const field of fields) {
      const { rule, text } = fieldStart(field[0]);
      if (rule === 'drop') continue;
      const value = field[1];
      if (rule === 'invalid' || !isFieldValue(value)) throw invalidRequest();
      head += text;
      head += value;
    }
    if (token !== undefined) {
      if (!isFieldValue(token)) throw invalidRequest();
      head += `\r\nAuthorization: Bearer ${token}`;
    }
    return `${head}${framingField(method, framing)}\r\n\r\n`;
  };
}

function framingField(method: string, framing: RequestFraming): string {
  if (framing === 'chunked') return '\r\ntransfer-encoding: chunked';
  if (framing !== 'none') return `\r\ncontent-length: ${framing}`;
  return WITH_BODY.has(method) ? '\r\ncontent-length: 0' : '';
}

function invalidRequest(): Http1Error {
  return new Http1Error('REQUEST_INVALID', 'HTTP/1.1 cannot express the request');
}

export interface BodyWriterOptions {
  /** The length of the body in bytes; chunked if undefined. */
  readonly length: number | undefined;
  /** Called once the last byte was handed to the socket. */
  readonly onWritten: () => void;
  /** Called with BODY_LENGTH_MISMATCH; then nothing more is written. */
  readonly onError: (error: Http1Error) => void;
}

/** Writes a streamed body, no faster than the server reads it. Starts at once. */
export class BodyWriter {
  readonly #socket: Socket;
  readonly #source: Readable;
  readonly #options: BodyWriterOptions;
  readonly #length: number | undefined;
  #written = 0;

  constructor(socket: Socket, source: Readable, options: BodyWriterOptions) {
    this.#socket = socket;
    this.#source = source;
    this.#options = options;
    this.#length = options.length;
    socket.on('drain', this.#onDrain);
    source.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** Writes nothing more, and leaves the source as it is. */
  stop(): void {
    this.#socket.off('drain', this.#onDrain);
    this.#source.off('data', this.#onData).off('end', this.#onEnd);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#written += chunk.length;
    if (this.#length !== undefined && this.#written > this.#length) this.#fail();
    else if (!this.#write(chunk)) this.#source.pause();
  };

  #write(chunk: Buffer): boolean {
    if (this.#length !== undefined) return this.#socket.write(chunk);
    if (chunk.length === 0) return true;
    this.#socket.cork();
    this.#socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
    this.#socket.write(chunk);
    const hasRoom = this.#socket.write('\r\n', 'latin1');
    this.#socket.uncork();
    return hasRoom;
  }

  readonly #onDrain = (): void => {
    this.#source.resume();
  };

  readonly #onEnd = (): void => {
    if (this.#length !== undefined && this.#written < this.#length) {
      this.#fail();
      return;
    }
    this.stop();
    if (this.#length === undefined) this.#socket.write('0\r\n\r\n', 'latin1');
    this.#options.onWritten();
  };

  #fail(): void {
    this.stop();
    const message = 'the request body is not as long as Content-Length says';
    this.#options.onError(new Http1Error('BODY_LENGTH_MISMATCH', message));
  }
}
