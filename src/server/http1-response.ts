/**
 * Answers over HTTP/1.1, on Node's own ServerResponse: for ordinary requests, and for a request to upgrade that
 * is refused, where the socket has already left Node's HTTP server.
 * RFC 9112.
 */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type HeaderList, isNamed } from '../lib/header-list.ts';
import type { ResponseWriter } from '../pipeline/ports.ts';
import { AnswerState } from './answer-state.ts';
import { endInPieces, type Pieces } from './end-in-pieces.ts';
import type { Http1Connection, Owed } from './http1-connection.ts';
import { checkedFields } from './response-head.ts';
import { whenTaken } from './when-taken.ts';

/** No Content-Length said how long the body is, or more than it said was written. */
const UNKNOWN = -1;

export abstract class Http1Response extends AnswerState implements ResponseWriter, Owed, Pieces {
  readonly connection: Http1Connection;
  protected readonly outgoing: ServerResponse;
  protected readonly socket: Socket;
  /** Bytes of the body still to be written. */
  #missing = UNKNOWN;
  #bodyBegun = false;

  constructor(outgoing: ServerResponse, socket: Socket, connection: Http1Connection) {
    const { open, draining } = connection.context;
    super(open, draining.aborted);
    this.outgoing = outgoing;
    this.socket = socket;
    this.connection = connection;
    connection.owe(this);
    // It is emitted once; 'on', since 'once' makes a wrapper and takes it off again.
    outgoing.on('finish', () => this.finished());
  }

  /** Called right before the head is written. */
  protected abstract beforeHead(): void;

  /** Says when there is room again. */
  protected abstract get drains(): EventEmitter;

  abstract takeTurn(): void;

  abstract get requestComplete(): boolean;

  /** Called when the whole answer has left. */
  protected finished(): void {
    this.connection.settle(this);
  }

  get headersSent(): boolean {
    return this.outgoing.headersSent;
  }

  /** The connection ends with this answer. */
  closeAfter(): void {
    this.outgoing.shouldKeepAlive = false;
  }

  writeHead(status: number, headers: HeaderList): void {
    if (this.closed) return;
    const fields: string[] = [];
    for (const field of checkedFields(status, headers)) {
      fields.push(field[0], field[1]);
      if (isNamed(field[0], 'content-length')) this.#missing = Number(field[1]);
    }
    this.beforeHead();
    this.outgoing.writeHead(status, fields);
    // What has a length begins with its head: nobody waits for the head alone, and a look later would cost each answer.
    if (this.#missing === UNKNOWN) this.#sendHeadSoon();
  }

  /**
   * A watch may have nothing to say for minutes: its head leaves now, but in one packet with what follows at once.
   * Not by flushHeaders: that sends header bytes beyond ASCII as UTF-8 once more.
   */
  #sendHeadSoon(): void {
    process.nextTick(() => {
      if (this.closed || this.#bodyBegun) return;
      this.outgoing.write('', 'latin1');
      this.connection.guard.wrote();
    });
  }

  write(chunk: Uint8Array, onTaken?: () => void): boolean {
    this.#bodyBegun = true;
    if (this.closed) return true;
    if (this.#missing === UNKNOWN) return this.writePiece(chunk, onTaken);
    this.#missing = Math.max(UNKNOWN, this.#missing - chunk.length);
    if (this.#missing !== 0) return this.writePiece(chunk, onTaken);
    // The last of it: together with the head, where that still waits, and without an empty write behind it.
    this.complete();
    this.endWith(chunk);
    return true;
  }

  onDrain(callback: () => void): void {
    this.drains.once('drain', callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.closed) return;
    this.complete();
    endInPieces(chunk, this);
  }

  writePiece(piece: Uint8Array, onTaken?: () => void): boolean {
    const room = this.outgoing.write(piece, whenTaken(onTaken));
    this.connection.guard.wrote();
    return room;
  }

  endWith(last: Uint8Array | undefined): void {
    this.outgoing.end(last);
    this.connection.guard.wrote();
  }

  destroy(): void {
    this.complete();
    this.socket.destroy();
  }
}
