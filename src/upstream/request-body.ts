/**
 * The client's body on its way to the API server: counted against the limit while it streams, and watched for
 * whoever keeps the other waiting. Destroying it leaves the client's own stream alive, because the answer still
 * has to go out over the same connection; what the client sends after that is read and dropped.
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

export function bodyTooLarge(maxBytes: number): StatusError {
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
    source.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose);
    source.pause();
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

  /** Its error is dropped on purpose: it is undici handing back what ended the call, which has been told already. */
  override _destroy(_error: Error | null, done: (error: null) => void): void {
    this.#timer?.cancel();
    this.#source.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    this.#source.resume();
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
