/**
 * Writes a request's content to its connection as it comes, no faster than the API server takes it, and exactly as much
 * as its head has promised: one byte more would begin another request.
 * RFC 9112 §6, §7.1.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';

export class RequestContent {
  readonly #socket: Socket;
  readonly #source: Readable;
  readonly #onSent: () => void;
  readonly #onFault: (fault: Error) => void;
  readonly #length: number | undefined;
  #written = 0;

  /**
   * Begins at once.
   *
   * @param length undefined where it is sent in chunks
   * @param onSent called once the last byte was handed over
   * @param onFault called where there is more or less than was promised
   */
  constructor(
    socket: Socket,
    source: Readable,
    length: number | undefined,
    onSent: () => void,
    onFault: (fault: Error) => void,
  ) {
    this.#socket = socket;
    this.#source = source;
    this.#length = length;
    this.#onSent = onSent;
    this.#onFault = onFault;
    socket.on('drain', this.#onDrain);
    source.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** Nothing more is written. */
  stop(): void {
    this.#socket.off('drain', this.#onDrain);
    this.#source.off('data', this.#onData).off('end', this.#onEnd);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#written += chunk.length;
    if (this.#length !== undefined && this.#written > this.#length) this.#fault();
    else if (!this.#write(chunk)) this.#source.pause();
  };

  #write(chunk: Buffer): boolean {
    if (this.#length !== undefined) return this.#socket.write(chunk);
    if (chunk.length === 0) return true;
    this.#socket.cork();
    this.#socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
    this.#socket.write(chunk);
    const room = this.#socket.write('\r\n', 'latin1');
    this.#socket.uncork();
    return room;
  }

  readonly #onDrain = (): void => {
    this.#source.resume();
  };

  readonly #onEnd = (): void => {
    if (this.#length !== undefined && this.#written < this.#length) {
      this.#fault();
      return;
    }
    this.stop();
    if (this.#length === undefined) this.#socket.write('0\r\n\r\n', 'latin1');
    this.#onSent();
  };

  #fault(): void {
    this.stop();
    this.#onFault(
      new StatusError('RequestMalformed', 'the request body is not as long as Content-Length says'),
    );
  }
}
