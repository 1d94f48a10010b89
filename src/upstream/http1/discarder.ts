/**
 * Reads the response to a cancelled request to its end and discards it, so that the connection can be reused:
 * over HTTP/1.1 a request can only be cancelled by closing its connection, and a new one costs the server a
 * TLS handshake (decision 0006). The connection is closed if there is too much to read or it takes too long.
 */
import type { TimeoutQueue } from '../../lib/timeout-queue.ts';
import type { BorrowedChunk } from './borrowed-chunk.ts';
import type { Connection, ResponseHandler } from './connection.ts';
import { InactivityTimer } from './inactivity-timer.ts';

/** Milliseconds. */
export const DISCARD_TIMEOUT = 2_000;
/** To read more of a response costs more than a TLS handshake. */
export const MAX_DISCARDED_BYTES = 256 * 1024;

export class ResponseDiscarder implements ResponseHandler {
  readonly #timer: InactivityTimer;
  readonly #onDone: (closed: boolean) => void;
  #bytes = 0;

  /**
   * @param timeouts a queue with `DISCARD_TIMEOUT`
   * @param onDone called once, with whether the connection was closed
   */
  constructor(connection: Connection, timeouts: TimeoutQueue, onDone: (closed: boolean) => void) {
    this.#onDone = onDone;
    // Never touched: it limits the total time.
    this.#timer = new InactivityTimer(timeouts, () => connection.fail(new Error('it takes too long')));
  }

  onSent(): void {}

  onResponding(): void {}

  onHead(): void {}

  onData(chunk: BorrowedChunk): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_DISCARDED_BYTES) throw new Error('it is too large');
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
