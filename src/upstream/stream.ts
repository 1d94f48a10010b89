/**
 * Responses without an end of their own (watches) that Stonegate itself reads while they arrive, no faster
 * than it works on them.
 */
import { Readable } from 'node:stream';
import type {
  UpstreamPartsStreamer,
  UpstreamStream,
  UpstreamStreamer,
} from '../kubernetes/upstream-ports.ts';
import { anyOf, CancellationSource, fromAbortSignal } from '../lib/cancellation.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { callUpstream } from './call.ts';
import type { CallContext, Flow, ResponseSink, Sending } from './call-request.ts';
import { unavailable } from './failure.ts';
import { responseHeaders } from './header-rules.ts';
import type { BorrowedChunk } from './http1/borrowed-chunk.ts';

export function createStreamer(context: CallContext): UpstreamStreamer & UpstreamPartsStreamer {
  const streamer =
    (isAdmitted: boolean): UpstreamStreamer['stream'] =>
    (asked, signal) => {
      const streamed = new StreamedResponse(signal);
      const request = { ...asked, isAdmitted, method: 'GET', longRunning: true, servedByAPIServer: true };
      const cancellation = anyOf(fromAbortSignal(signal), streamed.destroyed);
      const sending: Sending = { framing: 'none', cancellation, discardable: false };
      // Failures after the head reach the body; those before it fail the promise.
      callUpstream(context, request, sending, streamed).catch(streamed.opened.reject);
      return streamed.opened.promise;
    };
  return {
    stream: streamer(false),
    admitParts(account, count) {
      context.limits.admit(account, count);
      let left = count;
      return {
        stream(asked, signal) {
          left = Math.max(0, left - 1);
          return streamer(true)(asked, signal);
        },
        release() {
          context.limits.notSent(account, left);
          left = 0;
        },
      };
    },
  };
}

class StreamedResponse implements ResponseSink {
  readonly opened = Promise.withResolvers<UpstreamStream>();
  /** Cancelled when the body is destroyed: by its reader, or at its end. */
  readonly destroyed = new CancellationSource();
  readonly #signal: AbortSignal;
  readonly #body: Readable;
  #flow: Flow | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#body = new Readable({
      read: () => this.#flow?.resume(),
      destroy: (error, done) => {
        this.destroyed.cancel();
        done(error);
      },
    });
    // A caller that has aborted the request need not listen any more.
    this.#body.on('error', () => {});
  }

  head(status: number, received: HeaderField[], flow: Flow): void {
    this.#flow = flow;
    this.opened.resolve({ status, headers: responseHeaders(status, received), body: this.#body });
  }

  data(chunk: BorrowedChunk): void {
    if (!this.#body.destroyed && !this.#body.push(chunk.copy())) this.#flow?.pause();
  }

  end(): void {
    this.#body.push(null);
  }

  brokeOff(): never {
    const error = unavailable(this.#signal.aborted ? this.#signal.reason : 'the response broke off');
    this.#body.destroy(error);
    throw error;
  }
}
