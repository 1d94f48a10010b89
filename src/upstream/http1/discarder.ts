/**
 * Reads the response to a cancelled request to its end and discards it, so that the connection can be reused:
 * over HTTP/1.1 a request can only be cancelled by closing its connection, and a new one costs the server a
 * TLS handshake (decision 0006). The connection is closed if there is too much to read or it takes too long.
 */
import type { BorrowedChunk } from './borrowed-chunk.ts';
import type { Connection, ResponseHandler } from './connection.ts';
import { Http1Error } from './errors.ts';
import type { InactivityTimer, InactivityTimers } from './inactivity-timer.ts';

export class ResponseDiscarder implements ResponseHandler {
  readonly #timer: InactivityTimer;
  readonly #maxBytes: number;
  readonly #onDone: (closed: boolean) => void;
  #bytes = 0;

  /** @param onDone called once, with whether the connection was closed */
  constructor(
    connection: Connection,
    timers: InactivityTimers,
    maxBytes: number,
    onDone: (closed: boolean) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#onDone = onDone;
    // Never restarted: it limits the total time.
    this.#timer = timers.start(() => connection.fail(limitExceeded('takes too long')));
  }

  onSent(): void {}

  onResponding(): void {}

  onHead(): void {}

  onData(chunk: BorrowedChunk): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) throw limitExceeded('is too large');
  }

  onEnd(): void {
    this.#done(false);
  }

  onFailure(): void {
    this.#done(true);
  }

  #done(closed: boolean): void {
    this.#timer.stop();
    this.#onDone(closed);
  }
}

function limitExceeded(problem: string): Http1Error {
  return new Http1Error('DISCARD_LIMIT_EXCEEDED', `the response to a cancelled request ${problem}`);
}
