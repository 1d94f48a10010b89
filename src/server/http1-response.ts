/**
 * Answers over HTTP/1.1, on Node's own ServerResponse: for ordinary requests, and for a request to upgrade that
 * is refused, where the socket has already left Node's HTTP server.
 * RFC 9112.
 */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HeaderList } from '../lib/header-list.ts';
import { remembered } from '../lib/remembered.ts';
import type { ResponseWriter } from '../pipeline/exchange.ts';
import type { AnswerState } from './answer-state.ts';
import { endInPieces } from './end-in-pieces.ts';
import { checkedFields } from './response-head.ts';
import type { StallGuard } from './stall-guard.ts';

export interface Http1ResponseOptions {
  readonly response: ServerResponse;
  readonly socket: Socket;
  readonly state: AnswerState;
  /** Says when there is room again: the response itself, or the bare socket. */
  readonly drains: EventEmitter;
  /** Called right before the head is written. */
  readonly beforeHead: () => void;
  /** Told of every write. */
  readonly guard: StallGuard;
}

/** What has a length begins with its head: nobody waits for the head alone, and a look later would cost each answer. */
const isLength = remembered((name: string) => name.toLowerCase() === 'content-length');

export class Http1Response implements ResponseWriter {
  readonly #options: Http1ResponseOptions;
  #bodyBegun = false;

  constructor(options: Http1ResponseOptions) {
    this.#options = options;
  }

  get headersSent(): boolean {
    return this.#options.response.headersSent;
  }

  get closed(): boolean {
    return this.#options.state.closed;
  }

  /** The connection ends with this answer. */
  closeAfter(): void {
    this.#options.response.shouldKeepAlive = false;
  }

  writeHead(status: number, headers: HeaderList): void {
    if (this.closed) return;
    const { response, beforeHead } = this.#options;
    const fields: string[] = [];
    let bodyFollows = false;
    for (const [name, value] of checkedFields(status, headers)) {
      fields.push(name, value);
      bodyFollows ||= isLength(name);
    }
    beforeHead();
    response.writeHead(status, fields);
    if (bodyFollows) return;
    // A watch may have nothing to say for minutes: its head leaves now, but in one packet with what follows at once.
    // Not by flushHeaders: that sends header bytes beyond ASCII as UTF-8 once more.
    process.nextTick(() => {
      if (this.closed || this.#bodyBegun) return;
      response.write('', 'latin1');
      this.#options.guard.wrote();
    });
  }

  write(chunk: Uint8Array): boolean {
    this.#bodyBegun = true;
    if (this.closed) return true;
    const room = this.#options.response.write(chunk);
    this.#options.guard.wrote();
    return room;
  }

  onDrain(callback: () => void): void {
    this.#options.drains.once('drain', callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.closed) return;
    const { state, response } = this.#options;
    state.complete();
    endInPieces(chunk, {
      write: (piece) => {
        const room = response.write(piece);
        this.#options.guard.wrote();
        return room;
      },
      onDrain: (callback) => this.onDrain(callback),
      end: (last) => {
        response.end(last);
        this.#options.guard.wrote();
      },
    });
  }

  destroy(): void {
    this.#options.state.complete();
    this.#options.socket.destroy();
  }
}
