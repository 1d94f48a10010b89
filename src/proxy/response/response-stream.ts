/**
 * A response of Stonegate's own without an end (a watch), written event by event. What its client does not
 * take, and what the watch itself holds, counts against the tenant's memory; a client for which there is no
 * room is disconnected.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { RelayHooks, RelayResult } from '../../kubernetes/upstream-ports.ts';
import { fromAbortSignal } from '../../lib/cancellation.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import type { ResponseMemory } from '../../limits/response-memory.ts';
import type { Outgoing } from '../request-context.ts';

/** The client's end of a streamed answer. */
export interface ResponseStream {
  /** True once the client is gone or the response has ended: nothing more is written. */
  readonly closed: boolean;
  /** False while the client has not taken what was written: what can wait is written after `onDrain`. */
  readonly isWritable: boolean;
  /** @param text one or more whole events */
  write(text: string | Buffer): void;
  /** Calls back once, when the client has taken everything; perhaps never, if the stream ends. */
  onDrain(callback: () => void): void;
  /** Ends the response cleanly, so that a client watches on. */
  end(): void;
}

export interface StreamedResponse {
  readonly status: number;
  readonly headers: HeaderList;
  /** Written to the audit log only. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Memory that it takes as long as it is open, if its client decides how much. */
  readonly bytes?: number;
  /**
   * Called once, after the head is sent.
   *
   * @returns called once when the stream has ended, for whatever reason
   */
  start(stream: ResponseStream): () => void;
}

/** Bytes that a stream may take without counting against its tenant's memory. */
const FREE_BYTES = 128 * 1024;
const PIECE = 64 * 1024;

/**
 * Resolves when the stream has ended: by `end`, by its client, by the end of the user's access, or because
 * the server stops. Rejects with what `start` throws.
 *
 * @throws StatusError TenantRateExceeded
 */
export function writeStream(
  outgoing: Outgoing,
  answer: StreamedResponse,
  memory: ResponseMemory,
  hooks: RelayHooks | undefined,
): Promise<RelayResult> {
  const { response } = outgoing.exchange;
  const { status, headers, annotations } = answer;
  const result = { status, ...(annotations && { annotations }) };
  if (response.closed) return Promise.resolve({ ...result, aborted: true });
  const stream = new WrittenStream(outgoing, memory, answer.bytes);
  const start = () => {
    response.writeHead(status, [...headers, ['Audit-Id', outgoing.auditID]]);
    hooks?.onHead(status);
    return answer.start(stream);
  };
  return stream.run(start).then((aborted) => ({ ...result, aborted }));
}

class WrittenStream implements ResponseStream {
  readonly #response: Outgoing['exchange']['response'];
  readonly #client;
  readonly #ends;
  readonly #reservation;
  readonly #bytes: number;
  readonly #over = Promise.withResolvers<boolean>();
  #isOver = false;
  /** Bytes written since the client had taken everything. */
  #waiting = 0;
  #drained: (() => void)[] = [];
  #stop = () => {};

  constructor({ exchange, stream, tenant }: Outgoing, memory: ResponseMemory, bytes = 0) {
    const { stopping } = exchange;
    this.#response = exchange.response;
    this.#client = exchange.cancellation ?? fromAbortSignal(exchange.signal);
    this.#ends = [this.#client, ...(stream ? [stream] : []), ...(stopping ? [stopping] : [])];
    this.#reservation = memory.reservation(tenant);
    this.#bytes = bytes;
    if (!this.#reserve())
      throw new StatusError(
        'TenantRateExceeded',
        'Too many requests, please try again later: open watches and unread responses take too much memory',
      );
  }

  /** @returns whether the client, or a lack of memory, ended it */
  run(start: () => () => void): Promise<boolean> {
    for (const end of this.#ends) end.onCancel(this.#onCancel);
    try {
      const stop = start();
      if (this.#isOver) stop();
      else this.#stop = stop;
    } catch (error) {
      this.#isOver = true;
      // What reports the error destroys the response.
      this.#over.reject(error);
      this.#close();
    }
    if (this.#ends.some(({ cancelled }) => cancelled)) this.#onCancel();
    return this.#over.promise;
  }

  get closed(): boolean {
    return this.#isOver;
  }

  get isWritable(): boolean {
    return this.#waiting === 0;
  }

  write(text: string | Buffer): void {
    if (this.#isOver) return;
    if (this.#response.closed) {
      this.#finish(true);
      return;
    }
    const bytes = Buffer.from(text);
    // The text is written in pieces, to distinguish a slow client from one that does not read at all.
    for (let from = 0; from < bytes.length; from += PIECE)
      this.#writePiece(bytes.subarray(from, from + PIECE));
    this.#account();
  }

  #writePiece(piece: Buffer): void {
    if (this.#response.write(piece)) return;
    if (this.#waiting === 0) this.#response.onDrain(() => this.#onDrain());
    this.#waiting += piece.length;
  }

  onDrain(callback: () => void): void {
    if (this.isWritable) queueMicrotask(callback);
    else this.#drained.push(callback);
  }

  end(): void {
    this.#finish(false);
  }

  readonly #onCancel = (): void => {
    this.#finish(this.#client.cancelled);
  };

  #onDrain(): void {
    if (this.#isOver) return;
    this.#waiting = 0;
    this.#account();
    const callbacks = this.#drained;
    this.#drained = [];
    for (const callback of callbacks) callback();
  }

  #account(): void {
    if (!this.#reserve()) this.#finish(true);
  }

  #reserve(): boolean {
    return this.#reservation.resize(Math.max(0, this.#bytes + this.#waiting - FREE_BYTES));
  }

  #finish(aborted: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#response.closed) {
      if (aborted) this.#response.destroy();
      else this.#response.end();
    }
    this.#over.resolve(aborted);
    this.#close();
  }

  #close(): void {
    for (const end of this.#ends) end.offCancel(this.#onCancel);
    this.#reservation.release();
    this.#drained = [];
    this.#stop();
  }
}
