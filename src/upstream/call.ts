/**
 * One call to the API server: its account's permit, its timeouts, the client's cancellation, and one
 * repetition where it is harmless. The connection pool sends the request; a sink receives the response,
 * unless it is about Stonegate itself.
 */
import { BorrowedChunk } from '../http1/borrowed-chunk.ts';
import type { ResponseHandler } from '../http1/connection.ts';
import { isConnectionLoss } from '../http1/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { InFlight, InFlightCounter } from '../lib/in-flight.ts';
import type { Logger } from '../lib/logger.ts';
import type { Semaphore } from '../lib/semaphore.ts';
import type { BackendResult, Telemetry } from '../lib/telemetry.ts';
import type { Waiter } from '../lib/waiter.ts';
import {
  type CallRequest,
  type CallResult,
  type Flow,
  heldBytes,
  type ResponseSink,
} from './call-request.ts';
import {
  type Attempt,
  hasClosed,
  NEW,
  newAttempt,
  type RequestSender,
  SETTLED,
  type State,
  statusOf,
} from './call-state.ts';
import { backendResult, responseFault, timedOut, toStatusError } from './failure.ts';
import { requestHead } from './header-rules.ts';
import { HeldResponse, isRead, isReadable, replacedFields } from './held-response.ts';
import { type ImpersonationRefusals, REFUSAL_PAUSE } from './impersonation-refusal.ts';

export interface CallContext {
  readonly pool: RequestSender;
  /** Value of the Host field. */
  readonly authority: string;
  readonly refusals: ImpersonationRefusals;
  /** Counts requests that are repeated after a pause: no connection knows of them meanwhile. */
  readonly repeating: InFlightCounter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/**
 * @returns how the response ended, once its head was given to the sink or the client has cancelled
 * @throws StatusError for failures before that
 */
export function callUpstream(
  context: CallContext,
  request: CallRequest,
  sink: ResponseSink,
): Promise<CallResult> {
  return new Call(context, request, sink).outcome.promise;
}

const UNREAD: Buffer = Buffer.alloc(0);

class Call implements ResponseHandler, Flow, Waiter {
  readonly outcome = Promise.withResolvers<CallResult>();
  readonly #context: CallContext;
  readonly #request: CallRequest;
  readonly #sink: ResponseSink;
  #startedAt = 0;
  #state: State = NEW;
  /** Whose permit was asked for last. */
  #limiter: Semaphore | undefined;
  /** Of its connections. */
  #hasPermit = false;
  /** After a lost connection. */
  #sentAgain = false;
  /** From the pause after a refusal of Stonegate's own rights to the end. */
  #repeating: InFlight | undefined;

  constructor(context: CallContext, request: CallRequest, sink: ResponseSink) {
    this.#context = context;
    this.#request = request;
    this.#sink = sink;
    const { cancellation } = request;
    cancellation.onCancel(this.#onCancel);
    if (cancellation.cancelled) this.#onCancel();
    else this.#begin();
  }

  #begin(): void {
    const { openings, connections } = this.#request;
    this.#acquire(openings ?? connections);
  }

  #acquire(limiter: Semaphore | undefined): void {
    this.#limiter = limiter;
    if (limiter === undefined) this.#send();
    else if (limiter.tryAcquire()) this.onAcquired();
    else {
      this.#startedAt = this.#context.clock.now();
      this.#state = NEW;
      const wait = limiter.enqueue(this, heldBytes(this.#request));
      if (wait === undefined) this.#fail(limiter.queueFull());
      else if (this.#state === NEW) this.#state = { phase: 'waiting', wait };
    }
  }

  onAcquired(): void {
    const { openings, connections } = this.#request;
    if (this.#limiter === openings) {
      openings?.releaseDelayed();
      this.#acquire(connections);
    } else {
      this.#hasPermit = true;
      this.#send();
    }
  }

  onRefused(error: Error): void {
    this.#fail(error);
  }

  #send(): void {
    const { method, target, headers, token, framing, body } = this.#request;
    const { pool, authority, clock } = this.#context;
    this.#startedAt = clock.now();
    try {
      const head = requestHead(method, target, authority, headers, token, framing);
      const attempt = newAttempt();
      this.#state = attempt;
      if (typeof body === 'function') attempt.body = body((error) => this.#fail(error));
      if (this.#state !== attempt) {
        attempt.body?.destroy();
        return;
      }
      const content = typeof body === 'function' ? attempt.body : body;
      const alreadyAccepted = this.#sentAgain || this.#repeating !== undefined;
      const pending = pool.send({ method, head, framing, body: content }, this, alreadyAccepted);
      attempt.pending = pending;
      // It may have failed at once.
      if (this.#state !== attempt) pending.cancel();
    } catch (error) {
      this.#fail(error);
    }
  }

  onSent(): void {
    const state = this.#state;
    if (state.phase !== 'attempt') return;
    state.sent = true;
    this.#startTimer(state);
  }

  onResponding(): void {
    if (this.#state.phase === 'attempt') this.#state.responding = true;
  }

  onHead(status: number, fields: HeaderField[]): void {
    const state = this.#state;
    if (state.phase !== 'attempt') return;
    const { refusalIsClients } = this.#request;
    // Only the sender of an upgrade request passes a switch of protocols on.
    const fault = status === 101 ? undefined : responseFault(status, refusalIsClients, this.#context.logger);
    if (fault !== undefined) {
      this.#fail(fault);
      return;
    }
    this.#startTimer(state);
    state.timer?.touch();
    if (!isRead(status, this.#request)) this.#pass(state, status, fields);
    else if (isReadable(fields)) state.response = new HeldResponse(status, fields);
    else this.#passRead(state, status, fields, UNREAD);
    this.#count('ok');
  }

  onData(chunk: BorrowedChunk): void {
    const state = this.#state;
    if (state.phase !== 'attempt') return;
    state.timer?.touch();
    const { response } = state;
    if (!(response instanceof HeldResponse)) this.#sink.data(chunk);
    else if (!response.add(chunk))
      this.#passRead(state, response.status, response.fields, UNREAD, response.body);
  }

  onEnd(): void {
    const state = this.#state;
    if (state.phase !== 'attempt') return;
    if (state.response instanceof HeldResponse) {
      const { status, fields, body } = state.response;
      if (status === 403 && this.#refusesStonegate(state, body)) return;
      if (status === 201) this.#request.onCreated?.(body);
      this.#passRead(state, status, fields, body, body);
    }
    this.#sink.end();
    const result = { status: statusOf(state), aborted: false };
    this.#settle(state);
    // After an early response the connection cannot be used again.
    this.#release(!state.sent);
    this.outcome.resolve(result);
  }

  onFailure(error: Error): void {
    const state = this.#state;
    if (
      state.phase === 'attempt' &&
      !this.#sentAgain &&
      !state.responding &&
      !this.#request.cancellation.cancelled &&
      this.#request.repeatable &&
      isConnectionLoss(error)
    ) {
      this.#sentAgain = true;
      this.#count('error');
      state.timer?.stop();
      this.#send();
    } else this.#fail(error);
  }

  pause(): void {
    if (this.#state.phase !== 'attempt') return;
    this.#state.pending?.pause();
    this.#state.timer?.hold();
  }

  resume(): void {
    if (this.#state.phase !== 'attempt') return;
    this.#state.timer?.release();
    this.#state.pending?.resume();
  }

  #pass(state: Attempt, status: number, fields: HeaderField[], replacedStatus = status): void {
    this.#sink.head(replacedStatus, fields, this);
    state.response = status;
  }

  /**
   * @param read of the body: all, or nothing
   * @param body as far as it has arrived
   */
  #passRead(state: Attempt, status: number, fields: HeaderField[], read: Buffer, body = UNREAD): void {
    const replacement = status === 403 ? this.#request.onForbidden?.(read) : undefined;
    if (replacement === undefined) this.#pass(state, status, fields);
    else this.#pass(state, status, replacedFields(fields, replacement), replacement.status);
    const content = replacement?.body ?? body;
    if (content.length > 0) BorrowedChunk.lend(content, (chunk) => this.#sink.data(chunk));
    if (replacement !== undefined) this.#sink.end();
  }

  /**
   * The request is repeated once if it is harmless, since an API server knows no roles just after its start;
   * then it fails. A response to HEAD does not show whose refusal it is, and without an impersonated user
   * any is about Stonegate: both are passed on after the repetition.
   *
   * @returns whether the response is passed on to no one
   */
  #refusesStonegate(state: Attempt, body: Buffer): boolean {
    const { mayRefuseStonegate, method, headers } = this.#request;
    if (!mayRefuseStonegate) return false;
    const { refusals, clock, repeating } = this.#context;
    const refusal = refusals.read(body, headers);
    const isDoubtful = method === 'HEAD' || headerValue(headers, 'impersonate-user') === undefined;
    if (refusal === undefined && !isDoubtful) return false;
    if (this.#repeating === undefined && this.#request.repeatable) {
      state.timer?.stop();
      this.#release(!state.sent);
      this.#repeating = repeating.enter();
      const wait = clock.after(REFUSAL_PAUSE, () => this.#begin());
      this.#state = { phase: 'waiting', wait };
      return true;
    }
    if (refusal === undefined) return false;
    this.#settle(state);
    this.#release(!state.sent);
    this.outcome.reject(refusals.report(refusal));
    return true;
  }

  readonly #onCancel = (): void => {
    const state = this.#state;
    if (state.phase === 'settled') return;
    this.#settle(state);
    if (!this.#discard(state)) this.#cancel(state, false);
    this.#breakOff(state);
  };

  /** @returns whether the connection discards the rest of the response, and releases the permit at its end */
  #discard(state: State): boolean {
    if (!this.#request.discardable || state.phase !== 'attempt') return false;
    return state.pending?.discard((closed) => this.#release(closed)) ?? false;
  }

  /** @param closed whether a connection was closed before */
  #cancel(state: State, closed: boolean): void {
    const closes = state.phase === 'attempt' && state.pending?.cancel() === true;
    this.#release(closes || closed);
  }

  /** @param closed whether the request's connection was closed: then the slot may be returned later */
  #release(closed: boolean): void {
    if (!this.#hasPermit) return;
    this.#hasPermit = false;
    if (closed) this.#limiter?.releaseDelayed();
    else this.#limiter?.release();
  }

  #fail(error: unknown): void {
    const state = this.#state;
    if (state.phase === 'settled') return;
    this.#settle(state);
    this.#cancel(state, hasClosed(state, error));
    const status = statusOf(state);
    if (status !== 0) {
      this.#breakOff(state);
      this.#context.logger.warn({ error, status }, "the API server's response broke off");
      return;
    }
    const failure = toStatusError(error);
    this.outcome.reject(failure);
    // A full queue says nothing about the API server, and a held response was counted at its head.
    const isCounted = failure.http === 429 || (state.phase === 'attempt' && state.response !== undefined);
    if (!isCounted) this.#count(backendResult(failure));
  }

  #breakOff(state: State): void {
    try {
      this.outcome.resolve(this.#sink.brokeOff({ status: statusOf(state), aborted: true }));
    } catch (error) {
      this.outcome.reject(error);
    }
  }

  #settle(state: State): void {
    this.#state = SETTLED;
    this.#repeating?.release();
    this.#request.cancellation.offCancel(this.#onCancel);
    if (state.phase === 'waiting') state.wait.cancel();
    if (state.phase !== 'attempt') return;
    state.timer?.stop();
    state.body?.destroy();
  }

  #startTimer(attempt: Attempt): void {
    if (attempt.timer !== undefined || this.#state !== attempt) return;
    attempt.timer = this.#request.timeouts?.start(() =>
      this.#fail(
        timedOut(attempt.response === undefined ? 'no response head in time' : 'no data for too long'),
      ),
    );
  }

  #count(result: BackendResult): void {
    const seconds = (this.#context.clock.now() - this.#startedAt) / 1000;
    this.#context.telemetry.backendCall('upstream', result, seconds);
  }
}
