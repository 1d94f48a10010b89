/**
 * One request to the API server through undici's dispatcher, which hands over chunks without a stream in
 * between. Here are its time limits, the client's leaving, the one retry, and what a 401 means; what becomes of
 * the answer is the sink's business.
 * https://undici.nodejs.org/#/docs/api/Dispatcher?id=dispatcherdispatchoptions-handler
 */
import type { Dispatcher } from 'undici';
import type { Clock } from '../lib/clock.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { Leaving } from '../lib/leaving.ts';
import type { Logger } from '../lib/logger.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { answerFault } from './answer-fault.ts';
import { callResultOf, isConnectionLoss, timedOut, unavailable, upstreamFailure } from './failure.ts';
import type { IdleTimer, IdleTimers } from './idle-timer.ts';
import type { RequestBody } from './request-body.ts';

export interface CallRequest {
  readonly method: string;
  readonly target: string;
  /** Names and values in turn. */
  readonly headers: string[];
  /** At hand, or made when it is needed, given what to tell when it cannot go on. */
  readonly body?: Buffer | ((onFault: (fault: Error) => void) => RequestBody);
  /** Whether a 401 is the client's own: a workload answers, or the client's token was refused. */
  readonly refusalIsTheirs: boolean;
  /** For the answer's head, and between its chunks; without it there is no limit. */
  readonly patience?: IdleTimers;
  /** Who wants the answer. */
  readonly leaving: Leaving;
}

export interface Flow {
  pause(): void;
  resume(): void;
}

/** Where the answer goes. A throw ends the call. */
export interface Sink {
  head(status: number, headers: HeaderField[], flow: Flow): void;
  data(chunk: Buffer): void;
  end(): void;
}

export interface CallResult {
  /** 0 where the client left before there was one. */
  readonly status: number;
  readonly aborted: boolean;
}

export interface CallContext {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/**
 * @returns how the answer ended, once its head was given to the sink or the client left
 * @throws StatusError for what failed before
 */
export function callUpstream(context: CallContext, request: CallRequest, sink: Sink): Promise<CallResult> {
  const first = new Attempt(context, request, sink);
  return first.result
    .catch((error: unknown) => {
      if (!first.mayBeRepeated(error)) throw error;
      return new Attempt(context, request, sink).result;
    })
    .catch((error: unknown) => {
      throw upstreamFailure(error);
    });
}

class Attempt implements Dispatcher.DispatchHandler {
  readonly #outcome = Promise.withResolvers<CallResult>();
  readonly #context: CallContext;
  readonly #request: CallRequest;
  readonly #sink: Sink;
  readonly #startedAt: number;
  #body: RequestBody | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #idle: IdleTimer | undefined;
  #status = 0;
  #answered = false;
  #settled = false;

  constructor(context: CallContext, request: CallRequest, sink: Sink) {
    this.#context = context;
    this.#request = request;
    this.#sink = sink;
    this.#startedAt = context.clock.now();
    request.leaving.onLeave(this.#onLeave);
    if (request.leaving.left) this.#onLeave();
    else this.#dispatch();
  }

  get result(): Promise<CallResult> {
    return this.#outcome.promise;
  }

  #dispatch(): void {
    const { method, target, headers, body } = this.#request;
    if (typeof body === 'function') this.#body = body((fault) => this.#fail(fault));
    // `reset: false` keeps the connection after HEAD and after a DELETE with a body, which undici would close.
    this.#context.dispatcher.dispatch(
      {
        method,
        path: target,
        headers,
        body: (typeof body === 'function' ? this.#body : body) ?? null,
        reset: false,
      },
      this,
    );
  }

  /** Only what changes nothing, had no body, got not one byte of answer, and lost its connection. */
  mayBeRepeated(error: unknown): boolean {
    const { method, body, leaving } = this.#request;
    const safe = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    return safe && body === undefined && !this.#answered && !leaving.left && isConnectionLoss(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#settled) controller.abort(new Error('the call has ended before it was connected'));
    else this.#controller = controller;
  }

  onRequestSent(): void {
    this.#watch();
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#settled || isInformational(status)) return;
    const fault = answerFault(status, this.#request.refusalIsTheirs, this.#context.logger);
    if (fault !== undefined) {
      this.#fail(fault);
      return;
    }
    const headers = fieldsOf(controller.rawHeaders);
    this.#watch();
    this.#idle?.touch();
    this.#sink.head(status, headers, {
      pause: () => {
        controller.pause();
        this.#idle?.hold();
      },
      resume: () => {
        this.#idle?.release();
        if (!this.#settled) controller.resume();
      },
    });
    this.#status = status;
    this.#count('ok');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // A resumed parser begins with nothing.
    if (this.#settled || chunk.length === 0) return;
    this.#idle?.touch();
    this.#sink.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#sink.end();
    this.#disarm();
    // With a body, the answer may be complete before the request is.
    if (this.#body !== undefined) this.#tearOff();
    this.#outcome.resolve({ status: this.#status, aborted: false });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  readonly #onLeave = (): void => {
    if (this.#settled) return;
    this.#settle();
    this.#outcome.resolve({ status: this.#status, aborted: true });
  };

  #fail(error: Error): void {
    if (this.#settled) return;
    this.#settle();
    if (this.#status === 0) {
      this.#count(callResultOf(upstreamFailure(error)));
      this.#outcome.reject(error);
      return;
    }
    this.#context.logger.warn({ error, status: this.#status }, "the API server's answer broke off");
    this.#outcome.resolve({ status: this.#status, aborted: true });
  }

  #settle(): void {
    this.#disarm();
    this.#tearOff();
  }

  /** Nothing can fire any more. */
  #disarm(): void {
    this.#settled = true;
    this.#request.leaving.offLeave(this.#onLeave);
    this.#idle?.stop();
    this.#body?.destroy();
  }

  /** An unfinished request leaves its connection. Not for those that are whole: an Error costs more than all else here. */
  #tearOff(): void {
    this.#controller?.abort(new Error('the call has ended'));
  }

  #watch(): void {
    if (this.#idle !== undefined || this.#settled) return;
    this.#idle = this.#request.patience?.start(() =>
      this.#fail(
        timedOut(this.#status === 0 ? 'no head of an answer' : 'silence in the midst of the answer'),
      ),
    );
  }

  #count(result: 'ok' | 'error' | 'timeout' | 'refused'): void {
    const seconds = (this.#context.clock.now() - this.#startedAt) / 1000;
    this.#context.telemetry.backendCall('upstream', result, seconds);
  }
}

function isInformational(status: number): boolean {
  return status >= 100 && status < 200;
}

function fieldsOf(raw: Dispatcher.DispatchController['rawHeaders']): HeaderField[] {
  if (!Array.isArray(raw)) throw unavailable('undici gave no raw headers');
  const fields: HeaderField[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) fields.push([text(raw[i]), text(raw[i + 1])]);
  return fields;
}

/** Field values are bytes; as code units they survive the way through. */
function text(bytes: Buffer | string | undefined): string {
  return Buffer.isBuffer(bytes) ? bytes.toString('latin1') : (bytes ?? '');
}
