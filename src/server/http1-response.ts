/**
 * Answers over HTTP/1.1, on Node's own ServerResponse: for ordinary requests, and for a request to upgrade that
 * is refused, where the socket has already left Node's HTTP server.
 * RFC 9112.
 */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HeaderList } from '../lib/header-list.ts';
import type { ResponseWriter } from '../pipeline/exchange.ts';
import type { AnswerState } from './answer-state.ts';
import { checkedFields } from './response-head.ts';

export interface Http1ResponseOptions {
  readonly response: ServerResponse;
  readonly socket: Duplex;
  readonly state: AnswerState;
  /** Says when there is room again: the response itself, or the bare socket. */
  readonly drains: EventEmitter;
  /** Called right before the head is written. */
  readonly beforeHead: () => void;
}

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
    beforeHead();
    response.writeHead(status, checkedFields(status, headers).flat());
    // A watch may have nothing to say for minutes: its head leaves now, but in one packet with what follows at once.
    // Not by flushHeaders: that sends header bytes beyond ASCII as UTF-8 once more.
    process.nextTick(() => {
      if (!this.closed && !this.#bodyBegun) response.write('', 'latin1');
    });
  }

  write(chunk: Uint8Array): boolean {
    this.#bodyBegun = true;
    return this.closed || this.#options.response.write(chunk);
  }

  onDrain(callback: () => void): void {
    this.#options.drains.once('drain', callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.closed) return;
    this.#options.state.complete();
    this.#options.response.end(chunk);
  }

  destroy(): void {
    this.#options.state.complete();
    this.#options.socket.destroy();
  }
}
