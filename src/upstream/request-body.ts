/**
 * The client's body on its way to the API server: counted against the limit while it streams, and watched for
 * whoever keeps the other waiting. Nothing is read before somebody wants it, since reading tells a client that
 * expects a 100 to go on. Destroying it leaves the client's own stream paused and alive, because the answer still
 * has to go out over the same connection; what becomes of the rest is the listener's business.
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
  /** Milliseconds the API server may refuse to take bytes; 0 is no limit. */
  readonly upstreamStall: number;
  /** Told once why the body cannot go on. */
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
    this.#wait(this.#options.clientStall, () =>
      this.#fault(new StatusError('BodyTimeout', 'the rest of the request body did not arrive in time')),
    );
    this.#source.resume();
  }

  /** An error is told, not emitted: undici may hand one back when nobody listens any more. */
  override _destroy(error: Error | null, done: (error: null) => void): void {
    this.#timer?.cancel();
    this.#source.pause();
    this.#source.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    if (error !== null) this.#options.onFault(error);
    done(null);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.length;
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
    this.#timer = milliseconds === 0 ? undefined : this.#options.clock.after(milliseconds, onTooLong);
  }

  #fault(fault: Error): void {
    this.destroy();
    this.#options.onFault(fault);
  }
}
