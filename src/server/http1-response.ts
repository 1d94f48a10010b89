/**
 * HTTP/1.1 responses on Node's ServerResponse: for ordinary requests, and for refused upgrades, whose socket
 * has already left Node's HTTP server.
 * RFC 9112.
 */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ResponseWriter } from '../lib/exchange.ts';
import { type HeaderList, isNamed } from '../lib/header-list.ts';
import type { Http1Connection, PendingResponse } from './http1-connection.ts';
import { type BodySink, checkedFields, endInPieces, ResponseState, whenTaken } from './response-writing.ts';

/** There is no Content-Length, or more than it was written. */
const UNKNOWN = -1;

export abstract class Http1Response
  extends ResponseState
  implements ResponseWriter, PendingResponse, BodySink
{
  readonly connection: Http1Connection;
  protected readonly outgoing: ServerResponse;
  protected readonly socket: Socket;
  /** Bytes of the body that are not written yet. */
  #remaining = UNKNOWN;
  #bodyBegun = false;
  #sent = 0;

  constructor(outgoing: ServerResponse, socket: Socket, connection: Http1Connection) {
    super();
    this.outgoing = outgoing;
    this.socket = socket;
    this.connection = connection;
    connection.enqueue(this);
    // It is emitted once; 'on', because 'once' allocates a wrapper and removes it again.
    outgoing.on('finish', () => this.finished());
  }

  /** Called before the head is written. */
  protected abstract beforeHead(): void;

  /** Emits 'drain'. */
  protected abstract get drainSource(): EventEmitter;

  abstract onFirst(): void;

  abstract get requestComplete(): boolean;

  /** Called when the whole response is sent. */
  protected finished(): void {
    this.connection.dequeue(this);
  }

  get headersSent(): boolean {
    return this.outgoing.headersSent;
  }

  get bytesSent(): number {
    return this.#sent;
  }

  /** Node drops the body of a response to HEAD. */
  #countSent(bytes: number): void {
    if (this.outgoing.req.method !== 'HEAD') this.#sent += bytes;
  }

  /** Sends `Connection: close`. */
  closeAfter(): void {
    this.outgoing.shouldKeepAlive = false;
  }

  writeHead(status: number, headers: HeaderList): void {
    if (this.closed) return;
    const fields: string[] = [];
    for (const field of checkedFields(status, headers)) {
      fields.push(field[0], field[1]);
      if (isNamed(field[0], 'content-length')) this.#remaining = Number(field[1]);
    }
    this.beforeHead();
    this.outgoing.writeHead(status, fields);
    // A response with a length sends its head with the first bytes of the body.
    if (this.#remaining === UNKNOWN) this.#sendHeadSoon();
  }

  /**
   * Sends the head of a stream: a watch may have no event for minutes. After the current tick, so that it
   * shares a packet with a first chunk; not by flushHeaders, which encodes header bytes beyond ASCII as UTF-8
   * a second time.
   */
  #sendHeadSoon(): void {
    process.nextTick(() => {
      if (this.closed || this.#bodyBegun) return;
      this.outgoing.write('', 'latin1');
      this.connection.stallTimeout.start();
    });
  }

  write(chunk: Uint8Array, onTaken?: () => void): boolean {
    this.#bodyBegun = true;
    if (this.closed) return true;
    this.#countSent(chunk.length);
    if (this.#remaining === UNKNOWN) return this.writePiece(chunk, onTaken);
    this.#remaining = Math.max(UNKNOWN, this.#remaining - chunk.length);
    if (this.#remaining !== 0) return this.writePiece(chunk, onTaken);
    // The last chunk: in one packet with a head that is not sent yet, and without an empty write after it.
    this.complete();
    this.endWith(chunk);
    return true;
  }

  onDrain(callback: () => void): void {
    this.drainSource.once('drain', callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.closed) return;
    this.complete();
    this.#countSent(endInPieces(chunk, this));
  }

  writePiece(piece: Uint8Array, onTaken?: () => void): boolean {
    const writable = this.outgoing.write(piece, whenTaken(onTaken));
    this.connection.stallTimeout.start();
    return writable;
  }

  endWith(last: Uint8Array | undefined): void {
    this.outgoing.end(last);
    this.connection.stallTimeout.start();
  }

  destroy(): void {
    this.complete();
    this.socket.destroy();
  }
}
