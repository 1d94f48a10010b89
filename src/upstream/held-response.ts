/**
 * A small response that is read as a whole before its head is passed on: a 403 may be about Stonegate's own
 * rights or hide an object from the user, and a 201 shows what was created.
 */
import type { BorrowedChunk } from '../http1/borrowed-chunk.ts';
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { Replacement } from '../pipeline/ports.ts';
import type { CallRequest } from './call-request.ts';

/** A Status is a few hundred bytes, a namespace a few thousand; what is longer is passed on unread. */
const MAX_BYTES = 64 * 1024;

/** They describe the body, or came with the refusal only. */
const OF_THE_BODY: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'etag',
  'x-content-type-options',
]);

export class HeldResponse {
  readonly status: number;
  readonly fields: HeaderField[];
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number, fields: HeaderField[]) {
    this.status = status;
    this.fields = fields;
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** @returns false if the response is too long to be held */
  add(chunk: BorrowedChunk): boolean {
    this.#chunks.push(chunk.copy());
    this.#bytes += chunk.length;
    return this.#bytes <= MAX_BYTES;
  }
}

/** Whether someone reads the response before the client does. */
export function isRead(status: number, { mayRefuseStonegate, onForbidden, onCreated }: CallRequest): boolean {
  if (status === 403) return mayRefuseStonegate || onForbidden !== undefined;
  return status === 201 && onCreated !== undefined;
}

export function isReadable(fields: HeaderField[]): boolean {
  const length = Number(headerValue(fields, 'content-length') ?? 0);
  return length <= MAX_BYTES && headerValue(fields, 'content-encoding') === undefined;
}

/** The fields of a response of which only the body is replaced. */
export function replacedFields(received: HeaderField[], { headers }: Replacement): HeaderField[] {
  return [...received.filter(([name]) => !OF_THE_BODY.has(name.toLowerCase())), ...headers];
}
