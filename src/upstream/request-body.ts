/**
 * The client's body on its way to the API server: counted against the limit while it streams, and watched for
 * whoever keeps the other waiting. Nothing is read before somebody wants it, since reading tells a client that
 * expects a 100 to go on. Destroying it leaves the client's own stream paused and alive, because the answer still
 * has to go out over the same connection; what becomes of the rest is the listener's business.
 *
 * An unread body stops all reading from its connection, which then does not tell that its client has left. So what the
 * API server no longer takes once it has begun to answer is thrown away, within bounds: a Go server reads no body
 * behind the head of its answer.
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
  /** Milliseconds from its first byte's being wanted to the last one's coming; infinity for as long as it takes. */
  readonly whole: number;
  /** Milliseconds the API server may refuse to take bytes. */
  readonly upstreamStall: number;
  /** Whether the answer has begun. */
  readonly answered: () => boolean;
  /** Told once why the body cannot go on. */
  readonly onFault: (fault: Error) => void;
}

/** Milliseconds after which what is not taken beside a begun answer is not wanted. */
const UNWANTED_AFTER = 5_000;
const MAX_DISCARDED_BYTES = 256 * 1024;

function bodyTooLarge(maxBytes: number): StatusError {
  return new StatusError('BodyTooLarge', `Request entity too large: limit is ${maxBytes}`);
}

export class RequestBody extends Readable {
  readonly #source: Readable;
  readonly #options: RequestBodyOptions;
  #bytes = 0;
  #unwanted = false;
  #discarded = 0;
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
    if (this.#discarded > 0) {
      this.#fault(new Error('the API server reads on what was no longer wanted'));
      return;
    }
    this.#unwanted = false;
    if (this.#source.readableEnded) {
      this.push(null);
      return;
    }
    this.#wait(Math.min(this.#options.clientStall, this.#left()), () =>
      this.#fault(new StatusError('BodyTimeout', 'the rest of the request body did not arrive in time')),
    );
    this.#source.resume();
  }

  /** Milliseconds until the whole of it has to be there. */
  #left(): number {
    const { clock, whole } = this.#options;
    const now = clock.now();
    this.#until ??= now + whole;
    return Math.max(0, this.#until - now);
  }

  /** An error is told, not emitted: nobody listens for one any more once the call has ended. */
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
    if (this.#unwanted) {
      this.#discard(chunk);
      return;
    }
    this.#timer?.cancel();
    if (this.push(chunk)) return;
    this.#source.pause();
    this.#waitForDemand(this.#options.upstreamStall);
  };

  /** @param left milliseconds */
  #waitForDemand(left: number): void {
    const wait = Math.min(left, UNWANTED_AFTER);
    this.#wait(wait, () => {
      if (this.#options.answered()) {
        this.#unwanted = true;
        this.#source.resume();
      } else if (left > wait) this.#waitForDemand(left - wait);
      else this.#fault(timedOut('the API server stopped reading the request body'));
    });
  }

  #discard(chunk: Buffer): void {
    this.#discarded += chunk.length;
    if (this.#discarded > MAX_DISCARDED_BYTES)
      this.#fault(new Error('more of the request body came than the API server wants'));
  }

  readonly #onEnd = (): void => {
    this.#timer?.cancel();
    if (this.#discarded === 0) this.push(null);
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
