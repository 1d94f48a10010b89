/**
 * Forwards one request and streams its response to the client chunk by chunk, so that a watch's event is sent
 * at once, and no faster than the client reads. Redirects are passed to the client and never followed: that
 * would send Stonegate's credential to their target (CVE-2020-8559).
 */
import { StatusError } from '../errors/status-error.ts';
import type { Forwarder, RelayHooks, UpstreamRequest } from '../kubernetes/upstream-ports.ts';
import { anyOf, type Cancellation, fromAbortSignal } from '../lib/cancellation.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { callUpstream } from './call.ts';
import type { CallContext, CallResult, Flow, ResponseSink, Sending } from './call-request.ts';
import { isSafe } from './call-state.ts';
import { isWithoutBody, requestFraming, responseHeaders } from './header-rules.ts';
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';
import { RequestBody } from './request-body.ts';
import { MIN_STORED_BYTES, ResponseBuffers } from './response-buffers.ts';
import { assertWatchEvents, WatchFilter } from './watch-filter.ts';

export interface ForwarderOptions {
  readonly context: CallContext;
  readonly timeouts: { readonly response: number; readonly body: number };
  readonly maxBodyBytes: number;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  return {
    forward(request, exchange, hooks) {
      const { framing, body } = contentOf(request, exchange, options);
      const sending = {
        framing,
        body,
        cancellation: endOf(exchange, request),
        // What changes something is cancelled, as every Go proxy does it: it may still be stopped.
        discardable: !request.longRunning && isSafe(request.method),
      };
      const response = new ClientResponse(exchange, request, hooks);
      return callUpstream(options.context, request, sending, response);
    },
  };
}

/** The body that was read before, or else the client's. */
function contentOf(
  { body: read, longRunning }: UpstreamRequest,
  exchange: Exchange,
  { timeouts, maxBodyBytes, context: { clock } }: ForwarderOptions,
): Pick<Sending, 'framing' | 'body'> {
  if (read !== undefined)
    return read.length === 0 ? { framing: 'none' } : { framing: read.length, body: read };
  const framing = requestFraming(exchange);
  if (framing === 'none') return { framing };
  const body = (onFault: (fault: Error) => void) =>
    new RequestBody(exchange.body, {
      clock,
      maxBytes: maxBodyBytes,
      clientStall: timeouts.body,
      // Without a limit a client that sends one byte at a time would hold a connection for days.
      // kube-apiserver limits the whole request to 60 s.
      whole: longRunning ? Number.POSITIVE_INFINITY : timeouts.response,
      // This applies to long-running requests too: an unread body hides that the client has disconnected.
      upstreamStall: timeouts.response,
      onBytes: (bytes) => {
        exchange.bytesReceived += bytes;
      },
      onFault,
    });
  return { framing, body };
}

/** Gives the response of the API server to the client. */
export class ClientResponse implements ResponseSink {
  readonly #exchange: Exchange;
  readonly #request: UpstreamRequest;
  readonly #hooks: RelayHooks;
  #memory: ResponseBuffers | undefined;
  #filter: WatchFilter | undefined;
  #flow: Flow | undefined;
  #waiting = false;
  #empty = false;

  constructor(exchange: Exchange, request: UpstreamRequest, hooks: RelayHooks) {
    this.#exchange = exchange;
    this.#request = request;
    this.#hooks = hooks;
  }

  head(status: number, headers: HeaderField[], flow: Flow): void {
    const { dropsBookmarks, locationPrefix } = this.#request;
    this.#flow = flow;
    this.#empty = isWithoutBody(status);
    if (dropsBookmarks && status < 300) {
      assertWatchEvents(headers);
      this.#filter = new WatchFilter();
    }
    this.#exchange.response.writeHead(status, responseHeaders(status, headers, locationPrefix));
    this.#hooks.onHead(status);
  }

  data(piece: BorrowedChunk): void {
    const { response } = this.#exchange;
    if (this.#empty || response.closed) return;
    if (this.#filter !== undefined) {
      for (const bytes of this.#filter.take(piece.copy())) if (!response.write(bytes)) this.#slowDown();
      return;
    }
    if (!this.#write(piece)) this.#slowDown();
  }

  #write(piece: BorrowedChunk): boolean {
    const { response } = this.#exchange;
    // A response without an end has no memory of its own, since it may pause for hours between two chunks.
    if (this.#request.endless || piece.length < MIN_STORED_BYTES) return response.write(piece.copy());
    this.#memory ??= new ResponseBuffers();
    const { bytes, release } = this.#memory.store(piece);
    return response.write(bytes, release);
  }

  end(): void {
    const { response } = this.#exchange;
    if (!response.closed) response.end();
  }

  /**
   * A watch is ended cleanly if the server is stopping or the user's access has ended, so that the client
   * watches on. For all else the connection is aborted: a response that ended cleanly would be taken for
   * complete (RFC 9112 §8).
   */
  brokeOff(result: CallResult): CallResult {
    const { response } = this.#exchange;
    const { endless, ending: possible } = this.#request;
    const stopping = endless && this.#exchange.stopping?.cancelled === true;
    const ending = possible?.cancelled ? possible : undefined;
    const ours = (stopping || ending !== undefined) && !clientCancellation(this.#exchange).cancelled;
    if (ours && result.status === 0)
      throw ending?.refusal() ?? new StatusError('ShuttingDown', 'the server is shutting down; try again');
    if (ours && (stopping || ending?.clean)) {
      this.end();
      return { status: result.status, aborted: false };
    }
    if (!response.closed) response.destroy();
    return result;
  }

  /** Once, though what had arrived by then is still written. */
  #slowDown(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#flow?.pause();
    this.#exchange.response.onDrain(() => {
      this.#waiting = false;
      this.#flow?.resume();
    });
  }
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
  return !endless || stopping === undefined ? cancellation : anyOf(cancellation, stopping);
}
