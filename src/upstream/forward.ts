/**
 * Forwards one request and streams the response back, chunk by chunk, so that a watch's event is sent at
 * once, and no faster than the client reads. Redirects are passed to the client and never followed: that
 * would send Stonegate's credential to their target (CVE-2020-8559).
 */
import { StatusError } from '../errors/status-error.ts';
import type { BorrowedChunk } from '../http1/borrowed-chunk.ts';
import type { InactivityTimers } from '../http1/inactivity-timer.ts';
import { anyOf, type Cancellation, fromAbortSignal } from '../lib/cancellation.ts';
import type { Clock } from '../lib/clock.ts';
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import type {
  Exchange,
  Forwarder,
  RelayHooks,
  RelayResult,
  ResponseWriter,
  UpstreamRequest,
} from '../pipeline/ports.ts';
import type { AccountLimits } from './account-limits.ts';
import { callUpstream } from './call.ts';
import type { CallRequest, CallResult, Flow, ResponseSink } from './call-request.ts';
import type { SelectPools } from './connection-pools.ts';
import { isWithoutBody, requestFraming, responseHeaders } from './header-rules.ts';
import { HeldRefusal } from './held-refusal.ts';
import {
  type ImpersonationRefusal,
  type ImpersonationRefusals,
  pause,
  REFUSAL_PAUSE,
} from './impersonation-refusal.ts';
import { ObservedBody } from './observed-body.ts';
import { RequestBody } from './request-body.ts';
import { ResponseBuffers } from './response-buffers.ts';
import { assertWatchEvents, WatchFilter } from './watch-filter.ts';

export interface ForwarderOptions {
  readonly selectPools: SelectPools;
  readonly limits: AccountLimits;
  /** For responses to requests that are not long-running. */
  readonly responseTimeouts: InactivityTimers;
  readonly timeouts: { readonly response: number; readonly body: number };
  readonly maxBodyBytes: number;
  readonly refusals: ImpersonationRefusals;
  /** Counts requests that wait to be repeated: no connection knows of them. */
  readonly repeating: InFlightCounter;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  return {
    forward(request, exchange, hooks): Promise<RelayResult> {
      const { account, longRunning, sender } = request;
      const pools = options.selectPools(sender);
      const context = longRunning ? pools.longRunning : pools.short;
      const looks = request.servedByAPIServer === true && sender.kind === 'stonegate';
      const { limits, refusals, repeating } = options;
      const isSafe = request.method === 'GET' || request.method === 'HEAD';

      function attempt(repeated: boolean): Promise<RelayResult> {
        const { framing, body } = contentOf(request.body, exchange, options, context.clock, longRunning);
        const mayRepeat = !repeated && isSafe && framing === 'none';
        const sink = new ToClient(exchange, request, hooks, looks ? readerOf(mayRepeat) : undefined);
        const result = callUpstream(
          context,
          {
            method: request.method,
            target: request.target,
            headers: request.headers,
            token: pools.token,
            framing,
            body,
            refusalIsClients: request.proxied || sender.kind === 'client',
            limiter: longRunning
              ? limits.longRunningLimiterOf(account)
              : limits.limiterOf(account, request.method, request.target),
            limits: longRunning ? 'opening' : 'connection',
            // What changes something is cancelled, as every Go proxy does it: it may still be stopped.
            discardable: !longRunning && isSafe,
            timeouts: longRunning ? undefined : options.responseTimeouts,
            alreadyAccepted: repeated,
            cancellation: endOf(exchange, request),
          },
          sink,
        );
        return looks ? result.then((ended) => recognized(sink, ended, mayRepeat)) : result;
      }

      async function recognized(
        { refusal }: ToClient,
        result: RelayResult,
        mayRepeat: boolean,
      ): Promise<RelayResult> {
        if (refusal === undefined) return result;
        if (refusal !== 'untold' && !mayRepeat) throw refusals.report(refusal);
        const inFlight = repeating.enter();
        try {
          await pause(context.clock, REFUSAL_PAUSE);
          return await attempt(true);
        } finally {
          inFlight.release();
        }
      }

      /**
       * A response to HEAD has no body that shows whether it is a refusal of impersonation. It is repeated
       * once and then relayed.
       */
      function readerOf(mayRepeat: boolean): ReadRefusal | undefined {
        if (request.method !== 'HEAD') return (body) => refusals.read(body, request.headers);
        const impersonates = headerValue(request.headers, 'impersonate-user') !== undefined;
        return mayRepeat && impersonates ? () => 'untold' : undefined;
      }

      return attempt(false);
    },
  };
}

/** @param read the whole body, if it was read before */
function contentOf(
  read: Buffer | undefined,
  exchange: Exchange,
  options: ForwarderOptions,
  clock: Clock,
  longRunning: boolean,
): Pick<CallRequest, 'framing' | 'body'> {
  if (read !== undefined)
    return read.length === 0 ? { framing: 'none' } : { framing: read.length, body: read };
  const framing = requestFraming(exchange);
  return framing === 'none'
    ? { framing }
    : { framing, body: streamOf(exchange, options, clock, longRunning) };
}

function streamOf(
  exchange: Exchange,
  { timeouts, maxBodyBytes }: ForwarderOptions,
  clock: Clock,
  longRunning: boolean,
) {
  return (onFault: (fault: Error) => void): RequestBody =>
    new RequestBody(exchange.body, {
      clock,
      maxBytes: maxBodyBytes,
      clientStall: timeouts.body,
      // Without a limit a client that sends one byte at a time would hold a connection for days.
      // kube-apiserver limits the whole request to 60 s.
      whole: longRunning ? Number.POSITIVE_INFINITY : timeouts.response,
      // For long-running requests too: an unread body hides that the client has disconnected.
      upstreamStall: timeouts.response,
      responseBegun: () => exchange.response.headersSent,
      onFault,
    });
}

function clientCancellation({ cancellation, signal }: Exchange): Cancellation {
  return cancellation ?? fromAbortSignal(signal);
}

/**
 * Cancels the request if the client disconnects or the user's access ends; a watch also if Stonegate drains.
 */
function endOf(exchange: Exchange, { endless, ending }: UpstreamRequest): Cancellation {
  const client = clientCancellation(exchange);
  const cancellation = ending === undefined ? client : anyOf(client, ending);
  const { stopping } = exchange;
  return !endless || stopping === undefined ? cancellation : anyOf(cancellation, fromAbortSignal(stopping));
}

type PossibleRefusal = ImpersonationRefusal | 'untold';
type ReadRefusal = (body: Buffer) => PossibleRefusal | undefined;
const NOTHING: ReadRefusal = () => undefined;

class ToClient implements ResponseSink {
  readonly #exchange: Exchange;
  #response: ResponseWriter;
  readonly #readRefusal: ReadRefusal | undefined;
  #held: HeldRefusal<PossibleRefusal> | undefined;
  readonly #request: UpstreamRequest;
  readonly #hooks: RelayHooks;
  /** Undefined for a response that may pause for hours between two chunks. */
  readonly #memory: ResponseBuffers | undefined;
  #filter: WatchFilter | undefined;
  #flow: Flow | undefined;
  #waiting = false;
  #empty = false;

  /** @param readRefusal absent if no response can be about Stonegate's own rights */
  constructor(
    exchange: Exchange,
    request: UpstreamRequest,
    hooks: RelayHooks,
    readRefusal: ReadRefusal | undefined,
  ) {
    this.#readRefusal = readRefusal;
    this.#exchange = exchange;
    this.#response = exchange.response;
    this.#request = request;
    this.#hooks = hooks;
    this.#memory = request.endless ? undefined : new ResponseBuffers();
  }

  head(status: number, headers: HeaderField[], flow: Flow): void {
    this.#flow = flow;
    this.#empty = isWithoutBody(status);
    if (this.#request.dropsBookmarks && status < 300) {
      assertWatchEvents(headers);
      this.#filter = new WatchFilter();
    }
    const { onForbidden, onCreated, locationPrefix } = this.#request;
    if (status === 201 && onCreated !== undefined)
      this.#response = new ObservedBody(this.#response, onCreated);
    if (status === 403 && (this.#readRefusal !== undefined || onForbidden !== undefined)) {
      this.#held = new HeldRefusal({
        response: this.#response,
        hooks: this.#hooks,
        read: this.#readRefusal ?? NOTHING,
        replace: onForbidden,
      });
      this.#response = this.#held;
    }
    this.#response.writeHead(status, responseHeaders(status, headers, locationPrefix));
    if (this.#held === undefined) this.#hooks.onHead(status);
  }

  /**
   * The API server's refusal to let Stonegate impersonate, or what may be one: then the client was sent
   * nothing.
   */
  get refusal(): PossibleRefusal | undefined {
    return this.#held?.refusal;
  }

  data(piece: BorrowedChunk): void {
    if (this.#empty || this.#response.closed) return;
    if (this.#filter !== undefined) {
      for (const bytes of this.#filter.take(piece.copy())) if (!this.#response.write(bytes)) this.#slowDown();
      return;
    }
    const { bytes, release } = this.#memory?.store(piece) ?? { bytes: piece.copy() };
    if (!this.#response.write(bytes, release)) this.#slowDown();
  }

  end(): void {
    if (!this.#response.closed) this.#response.end();
  }

  /**
   * A watch is ended cleanly if the server is stopping or the user's access has ended, so that the client
   * watches on. For all else the connection is aborted: a response that ended cleanly would be taken for
   * complete (RFC 9112 §8).
   */
  brokeOff(result: CallResult): CallResult {
    const { endless, ending: possible } = this.#request;
    const stopping = endless && this.#exchange.stopping?.aborted === true;
    const ending = possible?.cancelled ? possible : undefined;
    const ours = (stopping || ending !== undefined) && !clientCancellation(this.#exchange).cancelled;
    if (ours && result.status === 0)
      throw ending?.refusal() ?? new StatusError('ShuttingDown', 'the server is shutting down; try again');
    if (ours && (stopping || ending?.clean)) {
      if (!this.#response.closed) this.#response.end();
      return { status: result.status, aborted: false };
    }
    if (!this.#response.closed) this.#response.destroy();
    return result;
  }

  /** Once, though what had arrived by then is still written. */
  #slowDown(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#flow?.pause();
    this.#response.onDrain(() => {
      this.#waiting = false;
      this.#flow?.resume();
    });
  }
}
