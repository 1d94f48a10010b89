/**
 * Reads the response to a cancelled request to its end and discards it, so that the connection can be used again:
 * over HTTP/1.1 a request can only be cancelled by closing its connection, and each new one costs the API server a TLS
 * handshake (decision 0006). The connection is closed if there is too much to read or it takes too long.
 */
import type { Arrived } from './arrived.ts';
import type { IdleTimer, IdleTimers } from './idle-timer.ts';
import type { AnswerHandler, PooledConnection } from './pooled-connection.ts';

/** Milliseconds from the cancellation to the response's last byte. */
export const DISCARD_TIMEOUT = 2_000;
/** To read more of a response costs more than a handshake. */
export const MAX_DISCARDED_BYTES = 256 * 1024;

export class DiscardedResponse implements AnswerHandler {
  readonly #timer: IdleTimer;
  readonly #onDone: (closed: boolean) => void;
  #bytes = 0;

  /**
   * @param timers of `DISCARD_TIMEOUT`
   * @param onDone called once, with whether the connection was closed
   */
  constructor(connection: PooledConnection, timers: IdleTimers, onDone: (closed: boolean) => void) {
    this.#onDone = onDone;
    // Never renewed: it bounds the whole time, not the silence.
    this.#timer = timers.start(() => connection.fail(new Error('a cancelled request takes too long')));
  }

  onSent(): void {}

  onAnswering(): void {}

  onHead(): void {}

  onData(piece: Arrived): void {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_DISCARDED_BYTES)
      throw new Error('the response to a cancelled request is too large');
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
