/**
 * The states of a call to the API server, and what they tell: whether it may be repeated, and whether its
 * connection was closed.
 */
import type { Readable } from 'node:stream';
import type { ResponseHandler, WireRequest } from '../http1/connection.ts';
import { isConnectionLoss } from '../http1/errors.ts';
import type { InactivityTimer } from '../http1/inactivity-timer.ts';
import type { HeldResponse } from './held-response.ts';

/** What carries requests: a connection pool, or a single connection. */
export interface RequestSender {
  send(request: WireRequest, handler: ResponseHandler, alreadyAccepted: boolean): SentRequest;
}

/** As a `PendingRequest` of a connection pool. */
export interface SentRequest {
  readonly wasSent: boolean;
  cancel(): boolean;
  discard(onDone: (closed: boolean) => void): boolean;
  pause(): void;
  resume(): void;
}

/** The request is in the pool or on a connection. */
export interface Attempt {
  readonly phase: 'attempt';
  /** Of a streamed request. */
  body: Readable | undefined;
  /** Undefined until the pool has accepted it. */
  pending: SentRequest | undefined;
  /** Once the request was sent. */
  timer: InactivityTimer | undefined;
  sent: boolean;
  responding: boolean;
  /** Undefined before its head; its status as soon as that was passed on. */
  response: undefined | HeldResponse | number;
}

export type State =
  | { readonly phase: 'new' }
  /** For a permit of its account, or for its repetition. */
  | { readonly phase: 'waiting'; readonly wait: { cancel(): void } }
  | Attempt
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
    responding: false,
    response: undefined,
  };
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
  return state.responding || (state.pending?.wasSent === true && !isConnectionLoss(error));
}
