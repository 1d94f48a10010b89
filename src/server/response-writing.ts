/**
 * What the responses of both protocols share: their state, the check of a head, sending a body in pieces, and
 * returning memory that was lent to a write.
 * RFC 9110 §8.6, §15, §15.3.6.
 */
import { StatusError } from '../errors/status-error.ts';
import { CancellationSource } from '../lib/cancellation.ts';
import { type HeaderList, isNamed } from '../lib/header-list.ts';

const PIECE = 64 * 1024;

/** A response is open, complete, or cancelled because its client disconnected. */
export class ResponseState extends CancellationSource {
  #complete = false;

  get closed(): boolean {
    return this.#complete || this.cancelled;
  }

  complete(): void {
    this.#complete = true;
  }

  override cancel(): void {
    if (!this.#complete) super.cancel();
  }
}

/**
 * Removes a Content-Length from a status without content: HTTP/2 clients treat it as a broken stream.
 *
 * @returns the fields to send
 * @throws StatusError InvariantBroken if the status is not final
 */
export function checkedFields(status: number, headers: HeaderList): HeaderList {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new StatusError('InvariantBroken', 'Internal error occurred: a response has no final status');
  if (status !== 204 && status !== 205) return headers;
  return headers.filter(([name]) => !isNamed(name, 'content-length'));
}

/**
 * The callback of a write that borrows memory. If a write fails, Node calls back with an error; the memory
 * may still be in use then, so it is not returned.
 */
export function whenTaken(onTaken: (() => void) | undefined): ((error?: Error | null) => void) | undefined {
  if (onTaken === undefined) return undefined;
  return (error) => {
    if (error === undefined || error === null) onTaken();
  };
}

/** A response that accepts a body. */
export interface BodySink {
  /** @returns false on backpressure */
  writePiece(piece: Uint8Array): boolean;
  onDrain(callback: () => void): void;
  /** @param last undefined if nothing is left */
  endWith(last: Uint8Array | undefined): void;
}

/**
 * Sends a complete body in pieces, as the client accepts them. A single write would copy the body whole for
 * the connection, and a slow client could not be distinguished from a stalled one.
 *
 * @returns the bytes of the body
 */
export function endInPieces(chunk: Uint8Array | string | undefined, sink: BodySink): number {
  const body = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  if (body === undefined || body.length === 0) sink.endWith(undefined);
  else if (body.length <= PIECE) sink.endWith(body);
  else sendFrom(body, 0, sink);
  return body?.length ?? 0;
}

function sendFrom(body: Uint8Array, start: number, sink: BodySink): void {
  let offset = start;
  while (body.length - offset > PIECE) {
    const writable = sink.writePiece(body.subarray(offset, offset + PIECE));
    offset += PIECE;
    if (!writable) {
      sink.onDrain(() => sendFrom(body, offset, sink));
      return;
    }
  }
  sink.endWith(body.subarray(offset));
}
