/**
 * Responses without an end of their own (watches) that Stonegate itself reads while they arrive, no faster
 * than it works on them.
 */
import { Readable } from 'node:stream';
import type { BorrowedChunk } from '../http1/borrowed-chunk.ts';
import { anyOf, type Cancellation, fromAbortSignal } from '../lib/cancellation.ts';
import type { Clock } from '../lib/clock.ts';
import { type HeaderField, headerValue } from '../lib/header-list.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import type { UpstreamStream, UpstreamStreamer } from '../pipeline/ports.ts';
import type { AccountLimits } from './account-limits.ts';
import { callUpstream } from './call.ts';
import type { CallResult, Flow, ResponseSink } from './call-request.ts';
import type { SelectPools } from './connection-pools.ts';
import { unavailable } from './failure.ts';
import { responseHeaders } from './header-rules.ts';
import { type ImpersonationRefusals, pause, REFUSAL_PAUSE } from './impersonation-refusal.ts';

/** A refusal is read whole before it is known what it says; a longer one breaks the request off. */
const MAX_REFUSAL_BYTES = 64 * 1024;

export interface StreamerOptions {
  readonly selectPools: SelectPools;
  readonly limits: AccountLimits;
  readonly refusals: ImpersonationRefusals;
  readonly clock: Clock;
  /** Counts requests that wait to be repeated: no connection knows of them. */
  readonly repeating: InFlightCounter;
}

type Request = Parameters<UpstreamStreamer['stream']>[0];

export function createStreamer(options: StreamerOptions): UpstreamStreamer {
  const { selectPools, limits, refusals, clock, repeating } = options;

  function open(request: Request, signal: AbortSignal, alreadyAccepted: boolean): Promise<Opened> {
    const { account, sender, target, headers } = request;
    const { longRunning, token } = selectPools(sender);
    const sink = new StreamSink(signal, sender.kind === 'stonegate');
    const called = callUpstream(
      longRunning,
      {
        method: 'GET',
        target,
        headers,
        token,
        framing: 'none',
        limiter: limits.longRunningLimiterOf(account),
        limits: 'opening',
        discardable: false,
        refusalIsClients: sender.kind === 'client',
        alreadyAccepted,
        cancellation: anyOf(fromAbortSignal(signal), sink.destroyed),
      },
      sink,
    );
    // Failures after the head reach the body; those before it fail the promise.
    called.catch((error: unknown) => sink.opened.reject(error));
    return sink.opened.promise;
  }

  async function repeat(request: Request, signal: AbortSignal): Promise<Opened> {
    const inFlight = repeating.enter();
    try {
      await pause(clock, REFUSAL_PAUSE);
      return await open(request, signal, true);
    } finally {
      inFlight.release();
    }
  }

  return {
    async stream(request, signal) {
      const { headers } = request;
      const first = await open(request, signal, false);
      if (first.refusal === undefined) return first.stream;
      // Without an impersonated user any refusal is about Stonegate itself; the caller says what it means.
      const asItself = headerValue(headers, 'impersonate-user') === undefined;
      if (!asItself && refusals.read(first.refusal, headers) === undefined) return first.stream;
      const second = await repeat(request, signal);
      const refusal = second.refusal && refusals.read(second.refusal, headers);
      if (refusal !== undefined) throw refusals.report(refusal);
      return second.stream;
    },
  };
}

interface Opened {
  readonly stream: UpstreamStream;
  /** The whole body of a 403 to Stonegate's credential. */
  readonly refusal: Buffer | undefined;
}

class StreamSink implements ResponseSink {
  readonly opened = Promise.withResolvers<Opened>();
  readonly destroyed: Cancellation;
  readonly #signal: AbortSignal;
  readonly #readsRefusals: boolean;
  readonly #body: Readable;
  #head: { readonly status: number; readonly headers: HeaderField[] } | undefined;
  #flow: Flow | undefined;
  /** Of a 403, until its body is complete. */
  #refusal: Buffer[] | undefined;
  #refusalBytes = 0;

  constructor(signal: AbortSignal, readsRefusals: boolean) {
    this.#signal = signal;
    this.#readsRefusals = readsRefusals;
    const closing = new BodyCancellation();
    this.destroyed = closing;
    this.#body = new Readable({
      read: () => this.#flow?.resume(),
      destroy: (error, done) => {
        closing.cancel();
        done(error);
      },
    });
    // A caller that has aborted the request need not listen any more.
    this.#body.on('error', () => {});
  }

  head(status: number, received: HeaderField[], flow: Flow): void {
    this.#flow = flow;
    this.#head = { status, headers: responseHeaders(status, received) };
    if (status === 403 && this.#readsRefusals) this.#refusal = [];
    else this.#open();
  }

  data(chunk: BorrowedChunk): void {
    if (this.#refusal !== undefined) {
      this.#refusalBytes += chunk.length;
      if (this.#refusalBytes > MAX_REFUSAL_BYTES)
        throw unavailable(`a refusal is over ${MAX_REFUSAL_BYTES} bytes`);
      this.#refusal.push(chunk.copy());
    } else if (!this.#body.destroyed && !this.#body.push(chunk.copy())) this.#flow?.pause();
  }

  end(): void {
    if (this.#refusal !== undefined) {
      const refusal = Buffer.concat(this.#refusal);
      this.#body.push(refusal);
      this.#open(refusal);
    }
    this.#body.push(null);
  }

  brokeOff(result: CallResult): CallResult {
    const error = unavailable(this.#signal.aborted ? this.#signal.reason : 'the response broke off');
    this.opened.reject(error);
    this.#body.destroy(error);
    return result;
  }

  #open(refusal?: Buffer): void {
    if (this.#head === undefined) return;
    this.opened.resolve({ stream: { ...this.#head, body: this.#body }, refusal });
  }
}

/** Cancelled when the body is destroyed: by its reader, or at its end, when nothing listens any more. */
class BodyCancellation implements Cancellation {
  cancelled = false;
  readonly #callbacks = new Set<() => void>();

  onCancel(callback: () => void): void {
    this.#callbacks.add(callback);
  }

  offCancel(callback: () => void): void {
    this.#callbacks.delete(callback);
  }

  cancel(): void {
    this.cancelled = true;
    for (const callback of [...this.#callbacks]) callback();
  }
}
