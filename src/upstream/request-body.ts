/**
 * Streams the client's body to the API server, with a limit of bytes and timeouts for both sides. It reads
 * nothing before the connection asks for it, since reading sends `100 Continue` to a client that expects it.
 * If it is destroyed, the client's stream stays open, since the response uses the same connection.
 */
import { Readable } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { timedOut } from './failure.ts';

export interface RequestBodyOptions {
  readonly clock: Clock;
  readonly maxBytes: number;
  /** Milliseconds the client may leave the API server waiting for bytes. */
  readonly clientStall: number;
  /** Milliseconds from the first request for bytes to the last byte; Infinity for no limit. */
  readonly whole: number;
  /** Milliseconds the API server may refuse to take bytes. */
  readonly upstreamStall: number;
  /** Called with the number of bytes that have arrived. */
  readonly onBytes: (bytes: number) => void;
  /** Called once, with the reason, if the body fails. */
  readonly onFault: (fault: Error) => void;
}

function bodyTooLarge(maxBytes: number): StatusError {
  return new StatusError('BodyTooLarge', `Request entity too large: limit is ${maxBytes}`);
}

export class RequestBody extends Readable {
  readonly #source: Readable;
  readonly #options: RequestBodyOptions;
  #bytes = 0;
  #timer: Timer | undefined;
  /** Milliseconds since the epoch. */
  #until: number | undefined;

  constructor(source: Readable, options: RequestBodyOptions) {
    super({ highWaterMark: 64 * 1024 });
    this.#source = source;
    this.#options = options;
    // Paused first: a 'data' listener would start the flow.
    source.pause();
    source.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose);
  }

  override _read(): void {
    if (this.#source.readableEnded) {
      this.push(null);
      return;
    }
    this.#wait(Math.min(this.#options.clientStall, this.#left()), () =>
      this.#fault(new StatusError('BodyTimeout', 'the rest of the request body did not arrive in time')),
    );
    this.#source.resume();
  }

  /** Milliseconds until the whole body must have arrived. */
  #left(): number {
    const { clock, whole } = this.#options;
    const now = clock.now();
    this.#until ??= now + whole;
    return Math.max(0, this.#until - now);
  }

  /** Reports an error by `onFault` and does not emit it: after the call has ended there is no listener. */
  override _destroy(error: Error | null, done: (error: null) => void): void {
    this.#timer?.cancel();
    this.#source.pause();
    this.#source.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    if (error !== null) this.#options.onFault(error);
    done(null);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.length;
    this.#options.onBytes(chunk.length);
    if (this.#bytes > this.#options.maxBytes) {
      this.#fault(bodyTooLarge(this.#options.maxBytes));
      return;
    }
    this.#timer?.cancel();
    if (this.push(chunk)) return;
    this.#source.pause();
    this.#wait(this.#options.upstreamStall, () =>
      this.#fault(timedOut('the API server stopped reading the request body')),
    );
  };

  readonly #onEnd = (): void => {
    this.#timer?.cancel();
    this.push(null);
  };

  readonly #onClose = (): void => {
    if (!this.#source.readableEnded) this.#fault(new Error('the client went away in the midst of its body'));
  };

  #wait(milliseconds: number, onTooLong: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(milliseconds, onTooLong);
  }

  #fault(fault: Error): void {
    this.destroy();
    this.#options.onFault(fault);
  }
}
