/**
 * One call to the API server: its account's permit, its timeouts, the client's cancellation, and one
 * repetition where it is harmless. The connection pool sends the request; a sink receives the response,
 * unless it is about Stonegate itself.
 */
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { InFlight } from '../lib/in-flight.ts';
import type { CallContext, CallRequest, CallResult, Flow, ResponseSink, Sending } from './call-request.ts';
import {
  type Attempt,
  Discarding,
  hasClosed,
  isRepeatable,
  MeasuredAttempts,
  mayRefuseStonegate,
  NEW,
  newAttempt,
  SETTLED,
  type State,
  statusOf,
} from './call-state.ts';
import { backendResult, responseFault, timedOut, toStatusError } from './failure.ts';
import { requestHead } from './header-rules.ts';
import { HeldResponse } from './held-response.ts';
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';
import type { ResponseHandler } from './http1/connection.ts';
import { isConnectionLoss } from './http1/errors.ts';
import { InactivityTimer } from './http1/inactivity-timer.ts';
import { REFUSAL_PAUSE } from './impersonation-refusal.ts';
import { PermittedCall } from './permitted-call.ts';

/**
 * @returns how the response ended, once its head was given to the sink or the client has cancelled
 * @throws StatusError for failures before that
 */
export function callUpstream(
  context: CallContext,
  request: CallRequest,
  sending: Sending,
  sink: ResponseSink,
): Promise<CallResult> {
  return new Call(context, request, sending, sink).outcome.promise;
}

class Call extends PermittedCall implements ResponseHandler, Flow {
  readonly outcome = Promise.withResolvers<CallResult>();
  readonly #context: CallContext;
  #sink: ResponseSink;
  readonly #attempts: MeasuredAttempts;
  #state: State = NEW;
  /** Whether the request was sent again after a lost connection. */
  #sentAgain = false;
  /** Runs from the pause after a refusal of Stonegate's own rights to the end. */
  #repeating: InFlight | undefined;

  constructor(context: CallContext, request: CallRequest, sending: Sending, sink: ResponseSink) {
    super(request, sending, context.limits);
    this.#context = context;
    this.#attempts = new MeasuredAttempts(context);
    this.#sink = sink;
    const { cancellation } = sending;
    cancellation.onCancel(this.#onCancel);
    if (cancellation.cancelled) this.#onCancel();
    else this.acquire();
  }

  protected onWaiting(wait: { cancel(): void }): void {
    this.#attempts.wait();
    this.#state = { phase: 'waiting', wait };
  }

  protected onPermitted(): void {
    const { sender, method, target, longRunning } = this.request;
    const { framing, body, upgrade } = this.sending;
    const headers = this.#attempts.begin(this.request.headers);
    try {
      const pools = this.#context.selectPools(sender);
      const head = requestHead(method, target, pools.authority, headers, pools.token, framing);
      const attempt = newAttempt();
      this.#state = attempt;
      if (typeof body === 'function') attempt.body = body((error) => this.fail(error));
      if (this.#state !== attempt) {
        attempt.body?.destroy();
        return;
      }
      const content = typeof body === 'function' ? attempt.body : body;
      const alreadyAccepted = this.#sentAgain || this.#repeating !== undefined;
      const via = upgrade ?? (longRunning ? pools.longRunning : pools.short);
      const pending = via.send({ method, head, framing, body: content }, this, alreadyAccepted);
      attempt.pending = pending;
      // It may have failed at once.
      if (this.#state !== attempt) pending.cancel();
    } catch (error) {
      this.fail(error);
    }
  }

  onSent(): void {
    const state = this.#state;
    if (state.phase !== 'attempt') return;
    state.sent = true;
    this.#startTimer(state);
  }

  onHead(status: number, fields: HeaderField[]): void {
    const state = this.#state;
    if (state.phase !== 'attempt') return;
    this.responded();
    const { sender, proxied, onForbidden, onCreated } = this.request;
    const isClients = proxied === true || sender.kind === 'client';
    // Only the sender of an upgrade request passes a switch of protocols on.
    const fault = status === 101 ? undefined : responseFault(status, isClients, this.#context.logger);
    if (fault !== undefined) {
      this.fail(fault);
      return;
    }
    this.#startTimer(state);
    state.timer?.touch();
    const isRead =
      (status === 403 && (mayRefuseStonegate(this.request) || onForbidden !== undefined)) ||
      (status === 201 && onCreated !== undefined);
    if (isRead) this.#hold(state, new HeldResponse(status, fields));
    else {
      this.#sink.head(status, fields, this);
      state.response = status;
    }
    this.#attempts.end('ok');
  }

  onData(chunk: BorrowedChunk): void {
    const state = this.#state;
    if (state.phase === 'discarding') state.add(chunk);
    if (state.phase !== 'attempt') return;
    state.timer?.touch();
    const { response } = state;
    if (response instanceof HeldResponse) {
      response.add(chunk);
      this.#hold(state, response);
    } else this.#sink.data(chunk);
  }

  onEnd(): void {
    const state = this.#state;
    if (state.phase === 'discarding') state.end(false);
    if (state.phase !== 'attempt') return;
    const { response } = state;
    if (response instanceof HeldResponse) {
      if (response.status === 403 && this.#refusesStonegate(state, response.body)) return;
      this.#pass(state, response);
    }
    this.#sink.end();
    const result = { status: statusOf(state), aborted: false };
    this.#settle(state);
    // After an early response the connection cannot be used again.
    this.release(!state.sent);
    this.outcome.resolve(result);
  }

  onFailure(error: Error): void {
    const state = this.#state;
    if (
      state.phase === 'attempt' &&
      !this.#sentAgain &&
      isRepeatable(this.request, this.sending) &&
      isConnectionLoss(error)
    ) {
      this.#sentAgain = true;
      this.#attempts.end('error');
      state.timer?.stop();
      this.onPermitted();
    } else if (state.phase === 'discarding') state.end(true);
    else this.fail(error);
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

  #hold(state: Attempt, response: HeldResponse): void {
    if (response.isReadable) state.response = response;
    else this.#pass(state, response);
  }

  #pass(state: Attempt, response: HeldResponse): void {
    this.#sink = response.passTo(this.#sink, this, this.request);
    state.response = response.status;
  }

  /**
   * The request is repeated once if it is harmless, since an API server knows no roles just after its start;
   * then it fails. A response to HEAD does not show whose refusal it is, and without an impersonated user
   * any is about Stonegate: both are passed on after the repetition.
   *
   * @returns whether the response is passed on to no one
   */
  #refusesStonegate(state: Attempt, body: Buffer): boolean {
    const { method, headers } = this.request;
    const { refusals, clock, unpooled } = this.#context;
    if (!mayRefuseStonegate(this.request)) return false;
    const refusal = refusals.read(body, headers);
    const isDoubtful = method === 'HEAD' || headerValue(headers, 'impersonate-user') === undefined;
    if (refusal === undefined && !isDoubtful) return false;
    if (this.#repeating === undefined && isRepeatable(this.request, this.sending)) {
      state.timer?.stop();
      this.release(!state.sent);
      this.#repeating = unpooled.enter();
      const wait = clock.after(REFUSAL_PAUSE, () => this.acquire());
      this.#state = { phase: 'waiting', wait };
      return true;
    }
    if (refusal === undefined) return false;
    this.#settle(state);
    this.release(!state.sent);
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

  /** @returns whether the rest of the response is discarded; then the permits are released at its end */
  #discard(state: State): boolean {
    const { discardable, upgrade } = this.sending;
    if (state.phase !== 'attempt' || state.pending === undefined || !state.sent) return false;
    if (upgrade !== undefined || !(discardable || this.isInReview)) return false;
    this.#state = new Discarding(state.pending, this.#context.discardTimeouts, (closed) => {
      this.#state = SETTLED;
      this.release(closed);
    });
    return true;
  }

  /** @param closed whether a connection was closed before */
  #cancel(state: State, closed: boolean): void {
    const closes = state.phase === 'attempt' && state.pending?.cancel() === true;
    this.release(closes || closed);
  }

  protected fail(error: unknown): void {
    const state = this.#state;
    if (state.phase === 'settled') return;
    this.#settle(state);
    if (state.phase === 'attempt' && state.pending?.wasSent === false && !this.#sentAgain) this.notSent();
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
    if (!isCounted) this.#attempts.end(backendResult(failure));
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
    this.sending.cancellation.offCancel(this.#onCancel);
    if (state.phase === 'waiting') state.wait.cancel();
    if (state.phase !== 'attempt') return;
    state.timer?.stop();
    state.body?.destroy();
  }

  #startTimer(attempt: Attempt): void {
    if (!this.isShort || attempt.timer !== undefined || this.#state !== attempt) return;
    attempt.timer = new InactivityTimer(this.#context.responseTimeouts, () =>
      this.fail(
        timedOut(attempt.response === undefined ? 'no response head in time' : 'no data for too long'),
      ),
    );
  }
}
