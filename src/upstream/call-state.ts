/**
 * The states of a call to the API server, the measurement of its attempts, and what follows from them:
 * whether it may be repeated, what was passed on, and whether its connection was closed.
 */
import type { Readable } from 'node:stream';
import type { HeaderList } from '../lib/header-list.ts';
import { currentTrace, type TracedCall } from '../lib/request-trace.ts';
import type { BackendResult } from '../lib/telemetry.ts';
import type { TimeoutQueue } from '../lib/timeout-queue.ts';
import type { CallContext, CallRequest, Sending, SentRequest } from './call-request.ts';
import type { HeldResponse } from './held-response.ts';
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';
import { isConnectionLoss } from './http1/errors.ts';
import { InactivityTimer } from './http1/inactivity-timer.ts';

/** The request is in the pool or on a connection. */
export interface Attempt {
  readonly phase: 'attempt';
  /** The body of a streamed request. */
  body: Readable | undefined;
  /** Undefined until the pool has accepted it. */
  pending: SentRequest | undefined;
  /** Once the request was sent. */
  timer: InactivityTimer | undefined;
  sent: boolean;
  /** Undefined before its head; its status as soon as that was passed on. */
  response: undefined | HeldResponse | number;
}

export type State =
  | { readonly phase: 'new' }
  /** The call waits for a permit of its account, or for its repetition. */
  | { readonly phase: 'waiting'; readonly wait: { cancel(): void } }
  | Attempt
  | Discarding
  | { readonly phase: 'settled' };

export const NEW: State = { phase: 'new' };
export const SETTLED: State = { phase: 'settled' };

export function newAttempt(): Attempt {
  return {
    phase: 'attempt',
    body: undefined,
    pending: undefined,
    timer: undefined,
    sent: false,
    response: undefined,
  };
}

/**
 * Measures the attempts until the response begins: for the metrics and for the trace of the request that
 * caused the call. An attempt may begin in a callback that belongs to another request.
 */
export class MeasuredAttempts {
  readonly #context: Pick<CallContext, 'clock' | 'telemetry'>;
  readonly #trace = currentTrace();
  #traced: TracedCall | undefined;
  #startedAt = 0;

  constructor(context: Pick<CallContext, 'clock' | 'telemetry'>) {
    this.#context = context;
  }

  wait(): void {
    this.#startedAt = this.#context.clock.now();
  }

  /** @returns the headers with the context of the trace, if there is one */
  begin(headers: HeaderList): HeaderList {
    this.#startedAt = this.#context.clock.now();
    this.#traced = this.#trace?.call('upstream');
    return this.#traced?.propagate(headers) ?? headers;
  }

  end(result: BackendResult): void {
    const { clock, telemetry } = this.#context;
    telemetry.backendCall('upstream', result, (clock.now() - this.#startedAt) / 1_000);
    this.#traced?.end(result);
  }
}

/** Milliseconds. */
export const DISCARD_TIMEOUT = 2_000;
/** Reading more of a response costs more than a TLS handshake. */
export const MAX_DISCARDED_BYTES = 256 * 1024;

/**
 * The rest of the response to a cancelled request is read and discarded, so that the connection can be
 * reused: over HTTP/1.1 a request can only be cancelled by closing its connection, and a new one costs the
 * server a TLS handshake (decision 0006). The connection is closed if there is too much to read or it takes
 * too long.
 */
export class Discarding {
  readonly phase = 'discarding';
  readonly #pending: SentRequest;
  readonly #timer: InactivityTimer;
  readonly #onDone: (closed: boolean) => void;
  #bytes = 0;

  /**
   * @param timeouts a queue with `DISCARD_TIMEOUT`
   * @param onDone called with whether the connection was closed
   */
  constructor(pending: SentRequest, timeouts: TimeoutQueue, onDone: (closed: boolean) => void) {
    this.#pending = pending;
    this.#onDone = onDone;
    // Never touched: it limits the total time.
    this.#timer = new InactivityTimer(timeouts, () => this.end(true));
    pending.resume();
  }

  add({ length }: BorrowedChunk): void {
    this.#bytes += length;
    if (this.#bytes > MAX_DISCARDED_BYTES) this.end(true);
  }

  end(closed: boolean): void {
    this.#timer.stop();
    if (closed) this.#pending.cancel();
    this.#onDone(closed);
  }
}

/** Whether the method changes nothing (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** Only a request without a body that changes nothing is repeatable; an upgrade may be a command. */
export function isRepeatable({ method }: CallRequest, { body, upgrade }: Sending): boolean {
  return body === undefined && upgrade === undefined && isSafe(method);
}

/** Whether a 403 may be about Stonegate's own rights: the API server itself responds to its credential. */
export function mayRefuseStonegate({ sender, servedByAPIServer }: CallRequest): boolean {
  return sender.kind === 'stonegate' && servedByAPIServer === true;
}

/** The status that was passed on; 0 if none was. */
export function statusOf(state: State): number {
  return state.phase === 'attempt' && typeof state.response === 'number' ? state.response : 0;
}

/**
 * Whether clients or workloads can have caused that the connection was closed. A connection that is lost
 * before any byte of a response was closed by the API server.
 */
export function hasClosed(state: State, error: unknown): boolean {
  if (state.phase !== 'attempt') return false;
  return state.pending?.wasSent === true && !isConnectionLoss(error);
}
