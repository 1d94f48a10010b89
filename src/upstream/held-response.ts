/**
 * A small response that is read as a whole before its head is passed on: a 403 may be about Stonegate's own
 * rights or hide an object from the user, and a 201 shows what was created.
 */
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { CallRequest, Flow, ResponseSink } from './call-request.ts';
import { BorrowedChunk } from './http1/borrowed-chunk.ts';

/** A Status is a few hundred bytes, a namespace a few thousand; what is longer is passed on unread. */
const MAX_BYTES = 64 * 1024;
const UNREAD: Buffer = Buffer.alloc(0);

/** Fields that describe the body, or belong to the refusal only. */
const OF_THE_BODY: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'etag',
  'x-content-type-options',
]);

/** Receives what is not passed on. */
const NOTHING: ResponseSink = { head() {}, data() {}, end() {}, brokeOff: (result) => result };

export class HeldResponse {
  readonly status: number;
  readonly #fields: HeaderField[];
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number, fields: HeaderField[]) {
    this.status = status;
    this.#fields = fields;
  }

  /** Whether its body may be read: it is not compressed, and as far as is known not too long. */
  get isReadable(): boolean {
    if (headerValue(this.#fields, 'content-encoding') !== undefined) return false;
    return this.#bytes <= MAX_BYTES && Number(headerValue(this.#fields, 'content-length') ?? 0) <= MAX_BYTES;
  }

  /** The part of the body that has arrived. */
  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  add(chunk: BorrowedChunk): void {
    this.#chunks.push(chunk.copy());
    this.#bytes += chunk.length;
  }

  /**
   * Passes on what has arrived, or what replaces it.
   *
   * @returns what receives the rest
   */
  passTo(sink: ResponseSink, flow: Flow, { onForbidden, onCreated }: CallRequest): ResponseSink {
    const { status, body } = this;
    const read = this.isReadable ? body : UNREAD;
    if (status === 201 && this.isReadable) onCreated?.(read);
    const replacement = status === 403 ? onForbidden?.(read) : undefined;
    if (replacement === undefined) {
      sink.head(status, this.#fields, flow);
      send(body, sink);
      return sink;
    }
    if (replacement === 'withheld') return NOTHING;
    const others = this.#fields.filter(([name]) => !OF_THE_BODY.has(name.toLowerCase()));
    sink.head(replacement.status, [...others, ...replacement.headers], flow);
    send(replacement.body, sink);
    sink.end();
    return NOTHING;
  }
}

function send(bytes: Buffer, sink: ResponseSink): void {
  if (bytes.length > 0) BorrowedChunk.lend(bytes, (chunk) => sink.data(chunk));
}
