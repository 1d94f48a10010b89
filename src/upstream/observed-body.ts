/**
 * A response that is passed on as it arrives and, if it is small, is also given to Stonegate as a whole: just
 * before the client has all of it.
 */
import { type HeaderList, headerValue } from '../lib/header-list.ts';
import type { ResponseWriter } from '../pipeline/ports.ts';

/** Of what is read: an object of usual size. */
const MAX_BYTES = 64 * 1024;

export class ObservedBody implements ResponseWriter {
  readonly #response: ResponseWriter;
  readonly #onBody: (body: Buffer) => void;
  /** Undefined once the response is not to be read, or has been. */
  #chunks: Buffer[] | undefined = [];
  #bytes = 0;
  /** Of the whole body; undefined if its end is not known before. */
  #length: number | undefined;

  /** @param onBody called for a response that is not compressed; it must not throw */
  constructor(response: ResponseWriter, onBody: (body: Buffer) => void) {
    this.#response = response;
    this.#onBody = onBody;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
  }

  get closed(): boolean {
    return this.#response.closed;
  }

  writeHead(status: number, headers: HeaderList): void {
    if (headerValue(headers, 'content-encoding') !== undefined) this.#chunks = undefined;
    const length = headerValue(headers, 'content-length');
    if (length !== undefined) this.#length = Number(length);
    this.#response.writeHead(status, headers);
  }

  write(chunk: Uint8Array, onTaken?: () => void): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BYTES) this.#chunks = undefined;
    // A copy: the memory of a chunk is used again.
    this.#chunks?.push(Buffer.from(chunk));
    // A response that has its length is complete with this chunk: `end` is not called.
    if (this.#bytes === this.#length) this.#read();
    return this.#response.write(chunk, onTaken);
  }

  onDrain(callback: () => void): void {
    this.#response.onDrain(callback);
  }

  end(chunk?: Uint8Array | string): void {
    this.#read();
    this.#response.end(chunk);
  }

  destroy(): void {
    this.#response.destroy();
  }

  #read(): void {
    const chunks = this.#chunks;
    this.#chunks = undefined;
    if (chunks !== undefined) this.#onBody(Buffer.concat(chunks));
  }
}
