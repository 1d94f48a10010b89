/**
 * Streams a response to the client chunk by chunk, so that a watch's event is sent at once, and no faster
 * than the client reads.
 */
import { StatusError } from '../errors/status-error.ts';
import { anyOf, type Cancellation, fromAbortSignal } from '../lib/cancellation.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { Exchange, RelayHooks, UpstreamRequest } from '../pipeline/ports.ts';
import type { CallResult, Flow, ResponseSink } from './call-request.ts';
import { isWithoutBody, responseHeaders } from './header-rules.ts';
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';
import { MIN_STORED_BYTES, ResponseBuffers } from './response-buffers.ts';
import { assertWatchEvents, WatchFilter } from './watch-filter.ts';

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
export function endOf(exchange: Exchange, { endless, ending }: UpstreamRequest): Cancellation {
  const client = clientCancellation(exchange);
  const cancellation = ending === undefined ? client : anyOf(client, ending);
  const { stopping } = exchange;
  return !endless || stopping === undefined ? cancellation : anyOf(cancellation, stopping);
}
