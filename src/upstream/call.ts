/**
 * One call to the API server: its account's permit, its timeouts, the client's cancellation, and one retry.
 * The connection pool sends the request, and a sink receives the response.
 */
import type { BorrowedChunk } from '../http1/borrowed-chunk.ts';
import type { ResponseHandler } from '../http1/connection.ts';
import type { ConnectionPool } from '../http1/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { Logger } from '../lib/logger.ts';
import type { BackendResult, Telemetry } from '../lib/telemetry.ts';
import type { Waiter } from '../lib/waiter.ts';
import {
  type CallRequest,
  type CallResult,
  type Flow,
  heldBytes,
  type ResponseSink,
} from './call-request.ts';
import { type Attempt, hasClosed, mayRepeat, NEW, newAttempt, SETTLED, type State } from './call-state.ts';
import { backendResult, responseFault, timedOut, toStatusError } from './failure.ts';
import { requestHead } from './header-rules.ts';

export interface CallContext {
  readonly pool: ConnectionPool;
  /** Value of the Host field. */
  readonly authority: string;
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

class Call implements ResponseHandler, Flow, Waiter {
  readonly outcome = Promise.withResolvers<CallResult>();
  readonly #context: CallContext;
  readonly #request: CallRequest;
  readonly #sink: ResponseSink;
  #startedAt = 0;
  #state: State = NEW;
  #hasPermit = false;

  constructor(context: CallContext, request: CallRequest, sink: ResponseSink) {
    this.#context = context;
    this.#request = request;
    this.#sink = sink;
    const { cancellation, limiter } = request;
    cancellation.onCancel(this.#onCancel);
    if (cancellation.cancelled) this.#onCancel();
    else if (limiter === undefined) this.#send();
    else if (limiter.tryAcquire()) this.onAcquired();
    else {
      this.#startedAt = context.clock.now();
      const entry = limiter.enqueue(this, heldBytes(request));
      if (entry === undefined) this.#fail(limiter.queueFull());
      else if (this.#state === NEW) this.#state = { phase: 'queued', entry };
    }
  }

  onAcquired(): void {
    const { limiter, limits } = this.#request;
    if (limits === 'opening') limiter?.releaseDelayed();
    else this.#hasPermit = true;
    this.#send();
  }

  onRefused(error: Error): void {
    this.#fail(error);
  }

  #send(): void {
    const { method, target, headers, token, framing, body } = this.#request;
    const { pool, authority, clock } = this.#context;
    const { phase } = this.#state;
    this.#startedAt = clock.now();
    try {
      const head = requestHead(method, target, authority, headers, token, framing);
      const attempt = newAttempt(phase === 'attempt');
      this.#state = attempt;
      if (typeof body === 'function') attempt.body = body((error) => this.#fail(error));
      if (this.#state !== attempt) {
        attempt.body?.destroy();
        return;
      }
      const content = typeof body === 'function' ? attempt.body : body;
      const alreadyAccepted = this.#request.alreadyAccepted === true || phase !== 'new';
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
    this.#request.limiter?.onResponse?.();
    const fault = responseFault(status, this.#request.refusalIsClients, this.#context.logger);
    if (fault !== undefined) {
      this.#fail(fault);
      return;
    }
    this.#startTimer(state);
    state.timer?.touch();
    this.#sink.head(status, fields, this);
    state.status = status;
    this.#count('ok');
  }

  onData(chunk: BorrowedChunk): void {
    if (this.#state.phase === 'attempt') this.#state.timer?.touch();
    this.#sink.data(chunk);
  }

  onEnd(): void {
    const state = this.#state;
    this.#sink.end();
    if (state.phase !== 'attempt') return;
    this.#settle(state);
    // After an early response the connection cannot be used again.
    this.#release(!state.sent);
    this.outcome.resolve({ status: state.status, aborted: false });
  }

  onFailure(error: Error): void {
    const state = this.#state;
    if (state.phase === 'attempt' && mayRepeat(state, this.#request, error)) {
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
    if (closed) this.#request.limiter?.releaseDelayed();
    else this.#request.limiter?.release();
  }

  #fail(error: unknown): void {
    const state = this.#state;
    if (state.phase === 'settled') return;
    this.#settle(state);
    this.#cancel(state, hasClosed(state, error));
    if (state.phase === 'attempt' && state.status !== 0) {
      this.#breakOff(state);
      this.#context.logger.warn({ error, status: state.status }, "the API server's response broke off");
      return;
    }
    const failure = toStatusError(error);
    this.outcome.reject(failure);
    // A full queue says nothing about the API server.
    if (failure.http !== 429) this.#count(backendResult(failure));
  }

  #breakOff(state: State): void {
    const status = state.phase === 'attempt' ? state.status : 0;
    try {
      this.outcome.resolve(this.#sink.brokeOff({ status, aborted: true }));
    } catch (error) {
      this.outcome.reject(error);
    }
  }

  #settle(state: State): void {
    this.#state = SETTLED;
    this.#request.cancellation.offCancel(this.#onCancel);
    if (state.phase === 'queued') state.entry.cancel();
    if (state.phase !== 'attempt') return;
    state.timer?.stop();
    state.body?.destroy();
  }

  #startTimer(attempt: Attempt): void {
    if (attempt.timer !== undefined || this.#state !== attempt) return;
    attempt.timer = this.#request.timeouts?.start(() =>
      this.#fail(timedOut(attempt.status === 0 ? 'no response head in time' : 'no data for too long')),
    );
  }

  #count(result: BackendResult): void {
    const seconds = (this.#context.clock.now() - this.#startedAt) / 1000;
    this.#context.telemetry.backendCall('upstream', result, seconds);
  }
}
