/**
 * The states of a call to the API server, and what they tell: whether it may be repeated, and whether its
 * connection was closed.
 */
import type { Readable } from 'node:stream';
import { isConnectionLoss } from '../http1/errors.ts';
import type { InactivityTimer } from '../http1/inactivity-timer.ts';
import type { PendingRequest } from '../http1/pending-request.ts';
import type { QueuedWaiter } from '../lib/waiter.ts';
import type { CallRequest } from './call-request.ts';

/** The request is in the pool or on a connection. */
export interface Attempt {
  readonly phase: 'attempt';
  readonly repeats: boolean;
  /** Of a streamed request. */
  body: Readable | undefined;
  /** Undefined until the pool has accepted it. */
  pending: PendingRequest | undefined;
  /** Once the request was sent. */
  timer: InactivityTimer | undefined;
  sent: boolean;
  responding: boolean;
  /** Of the response; 0 before its head. */
  status: number;
}

export type State =
  | { readonly phase: 'new' }
  /** The request waits for a slot of its account's limiter. */
  | { readonly phase: 'queued'; readonly entry: QueuedWaiter }
  | Attempt
  | { readonly phase: 'settled' };

export const NEW: State = { phase: 'new' };
export const SETTLED: State = { phase: 'settled' };

/** @param repeats whether another attempt came before */
export function newAttempt(repeats: boolean): Attempt {
  return {
    phase: 'attempt',
    repeats,
    body: undefined,
    pending: undefined,
    timer: undefined,
    sent: false,
    responding: false,
    status: 0,
  };
}

/**
 * Only a request that changes nothing, without a body, whose connection was lost before any byte of a
 * response.
 */
export function mayRepeat(
  attempt: Attempt,
  { method, body, cancellation }: CallRequest,
  error: unknown,
): boolean {
  const safe = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  const unanswered = !attempt.repeats && !attempt.responding && !cancellation.cancelled;
  return safe && body === undefined && unanswered && isConnectionLoss(error);
}

/**
 * Whether clients or workloads can have caused that the connection was closed. A connection that is lost
 * before any byte of a response was closed by the API server.
 */
export function hasClosed(state: State, error: unknown): boolean {
  if (state.phase !== 'attempt') return false;
  return state.responding || (state.pending?.wasSent === true && !isConnectionLoss(error));
}
