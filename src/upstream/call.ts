/**
 * One request to the API server: its account's slot, its time limits, the client's cancellation, and the one retry. The
 * sink handles the response, the connection what is on the wire.
 */
import type { Readable } from 'node:stream';
import type { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { Logger } from '../lib/logger.ts';
import type { BackendResult, Telemetry } from '../lib/telemetry.ts';
import { answerFault } from './answer-fault.ts';
import type { Arrived } from './arrived.ts';
import { type CallRequest, heldBytes } from './call-request.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { DiscardedResponse } from './discarded-response.ts';
import type { Errand } from './errand.ts';
import { callResultOf, isConnectionLoss, timedOut, upstreamFailure } from './failure.ts';
import type { IdleTimer, IdleTimers } from './idle-timer.ts';
import type { QueuedRequest, Waiter } from './key-limiter.ts';
import type { AnswerHandler } from './pooled-connection.ts';
import { requestHead } from './request-head.ts';
import type { CallResult, Flow, Sink } from './sink.ts';

export interface CallContext {
  readonly pool: ConnectionPool;
  /** As the Host field says it. */
  readonly authority: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  /** Of `DISCARD_TIMEOUT`. */
  readonly discardTimers: IdleTimers;
}

/**
 * @returns how the answer ended, once its head was given to the sink or the client left
 * @throws StatusError for what failed before
 */
export function callUpstream(context: CallContext, request: CallRequest, sink: Sink): Promise<CallResult> {
  return new Call(context, request, sink).result;
}

class Call implements AnswerHandler, Flow, Waiter {
  readonly #outcome = Promise.withResolvers<CallResult>();
  readonly #context: CallContext;
  readonly #request: CallRequest;
  readonly #sink: Sink;
  #startedAt = 0;
  #body: Readable | undefined;
  #errand: Errand | undefined;
  #idle: IdleTimer | undefined;
  #status = 0;
  #repeated = false;
  #hasSlot = false;
  #queued: QueuedRequest | undefined;
  #sent = false;
  #answering = false;
  #hasClosed = false;
  #settled = false;

  constructor(context: CallContext, request: CallRequest, sink: Sink) {
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
      this.#queued = limiter.enqueue(this, heldBytes(request));
      if (this.#queued === undefined) this.#fail(limiter.full);
    }
  }

  onAcquired(): void {
    const { limiter, limits } = this.#request;
    if (limits === 'opening') limiter?.releaseClosed();
    else this.#hasSlot = true;
    this.#send();
  }

  onRefused(error: StatusError): void {
    this.#fail(error);
  }

  get result(): Promise<CallResult> {
    return this.#outcome.promise;
  }

  #send(): void {
    const { method, target, headers, token, framing, body } = this.#request;
    const { pool, authority, clock } = this.#context;
    this.#startedAt = clock.now();
    try {
      const head = requestHead(method, target, authority, headers, token, framing);
      if (typeof body === 'function') this.#body = body((fault) => this.#fail(fault));
      const content = typeof body === 'function' ? this.#body : body;
      const takenOn = this.#request.takenOn === true || this.#repeated || this.#queued !== undefined;
      const errand = pool.send({ method, head, framing, body: content }, this, takenOn);
      // What failed at once has ended already.
      if (this.#settled) errand.abandon();
      this.#errand = errand;
    } catch (error) {
      this.#fail(error);
    }
  }

  onSent(): void {
    this.#sent = true;
    this.#watch();
  }

  onAnswering(): void {
    this.#answering = true;
  }

  onHead(status: number, fields: HeaderField[]): void {
    const fault = answerFault(status, this.#request.refusalIsTheirs, this.#context.logger);
    if (fault !== undefined) {
      this.#fail(fault);
      return;
    }
    this.#watch();
    this.#idle?.touch();
    this.#sink.head(status, fields, this);
    this.#status = status;
    this.#count('ok');
  }

  onData(piece: Arrived): void {
    this.#idle?.touch();
    this.#sink.data(piece);
  }

  onEnd(): void {
    this.#sink.end();
    this.#settle();
    // The connection of a request that was answered before it was sent as a whole cannot be used again.
    this.#release(!this.#sent);
    this.#outcome.resolve({ status: this.#status, aborted: false });
  }

  onFailure(error: Error): void {
    if (!this.#mayBeRepeated(error)) {
      // A connection that is lost before any byte of a response was closed by the API server; clients and workloads can
      // cause all else.
      this.#hasClosed = this.#answering || (this.#errand?.sent === true && !isConnectionLoss(error));
      this.#fail(error);
      return;
    }
    this.#repeated = true;
    this.#count('error');
    this.#idle?.stop();
    this.#idle = undefined;
    this.#send();
  }

  pause(): void {
    this.#errand?.pause();
    this.#idle?.hold();
  }

  resume(): void {
    if (this.#settled) return;
    this.#idle?.release();
    this.#errand?.resume();
  }

  /** Only what changes nothing, had no body, got not one byte of answer, and lost its connection. */
  #mayBeRepeated(error: unknown): boolean {
    const { method, body, cancellation } = this.#request;
    const safe = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    const unanswered = !this.#repeated && !this.#answering && !cancellation.cancelled;
    return safe && body === undefined && unanswered && isConnectionLoss(error);
  }

  readonly #onCancel = (): void => {
    if (this.#settled) return;
    this.#settle();
    if (!this.#discard()) this.#abandon();
    this.#breakOff();
  };

  /** @returns whether the connection reads and discards the rest, and gives the slot back at the end of it */
  #discard(): boolean {
    if (!this.#request.discardable || this.#errand === undefined) return false;
    return this.#errand.handOver(
      (connection) =>
        new DiscardedResponse(connection, this.#context.discardTimers, (closed) => this.#release(closed)),
    );
  }

  #abandon(): void {
    const closed = this.#errand?.abandon() ?? false;
    this.#release(closed || this.#hasClosed);
  }

  #release(closed: boolean): void {
    if (!this.#hasSlot) return;
    this.#hasSlot = false;
    if (closed) this.#request.limiter?.releaseClosed();
    else this.#request.limiter?.release();
  }

  #fail(error: unknown): void {
    if (this.#settled) return;
    this.#settle();
    this.#abandon();
    if (this.#status === 0) {
      const failure = upstreamFailure(error);
      this.#outcome.reject(failure);
      // A full queue says nothing about the API server.
      if (failure.http !== 429) this.#count(callResultOf(failure));
      return;
    }
    this.#breakOff();
    this.#context.logger.warn({ error, status: this.#status }, "the API server's answer broke off");
  }

  #breakOff(): void {
    try {
      this.#outcome.resolve(this.#sink.brokeOff({ status: this.#status, aborted: true }));
    } catch (error) {
      this.#outcome.reject(error);
    }
  }

  #settle(): void {
    this.#settled = true;
    this.#request.cancellation.offCancel(this.#onCancel);
    this.#idle?.stop();
    this.#body?.destroy();
    this.#queued?.stop();
  }

  #watch(): void {
    if (this.#idle !== undefined || this.#settled) return;
    this.#idle = this.#request.patience?.start(() =>
      this.#fail(
        timedOut(this.#status === 0 ? 'no head of an answer' : 'silence in the midst of the answer'),
      ),
    );
  }

  #count(result: BackendResult): void {
    const seconds = (this.#context.clock.now() - this.#startedAt) / 1000;
    this.#context.telemetry.backendCall('upstream', result, seconds);
  }
}
