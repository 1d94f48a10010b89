/**
 * The delivery of a long-running request: it keeps nothing of the configuration that decided it, so that a
 * stream of days does not keep a previous generation alive.
 */

import type { RelayHooks, RelayResult } from '../../kubernetes/upstream-ports.ts';
import type { InFlight } from '../../lib/in-flight.ts';
import type { RequestObserver } from '../../observability/request-observer.ts';
import {
  deliver,
  forgetRefusedToken,
  isRefusalOfStonegate,
  refuse,
  type ServingStages,
} from '../delivery.ts';
import type { Outgoing, RequestContext } from '../request-context.ts';
import type { OpenStream } from '../streams/open-stream.ts';
import type { StreamRegistry } from '../streams/stream-registry.ts';

/**
 * A long-running request from its decision to its end. As soon as its response has begun it refers to nothing
 * of the configuration that decided it: after a reload, thousands of open watches must not keep the previous
 * generation alive.
 */
export class StreamDelivery implements RelayHooks {
  readonly #context: RequestContext;
  readonly #stream: OpenStream;
  readonly #undecided: InFlight;
  readonly #observer: RequestObserver;
  readonly #streams: StreamRegistry;
  readonly #writeStatus: ServingStages['writeStatus'];
  /** Cleared when the response begins: no later error is due to Stonegate's rights or the client's token. */
  #pending: { readonly outgoing: Outgoing; readonly stages: ServingStages } | undefined;

  constructor(outgoing: Outgoing, stream: OpenStream, stages: ServingStages, undecided: InFlight) {
    this.#context = outgoing;
    this.#stream = stream;
    this.#undecided = undecided;
    this.#observer = stages.observer;
    this.#streams = stages.streams;
    this.#writeStatus = stages.writeStatus;
    this.#pending = { outgoing, stages };
  }

  /** Done when the stream has ended. */
  async run(): Promise<void> {
    try {
      this.#context.outcome = await this.#deliver();
      this.#begun(this.#context.outcome.status);
    } catch (error) {
      if (isRefusalOfStonegate(error)) this.#pending?.stages.upstreamRights.refused();
      this.#context.outcome = refuse(error, this.#context, this.#writeStatus);
    } finally {
      this.#undecided.release();
      closeStream(this.#context, this.#stream, this.#streams);
    }
    this.#observer.responseComplete(this.#context);
  }

  onHead(status: number): void {
    this.#begun(status);
    this.#observer.responseStarted(this.#context, status);
  }

  #deliver(): Promise<RelayResult> {
    if (this.#pending === undefined) throw new TypeError('a stream is delivered once');
    return deliver({ ...this.#pending, undecided: this.#undecided, hooks: this });
  }

  #begun(status: number): void {
    if (this.#pending === undefined) return;
    const { outgoing, stages } = this.#pending;
    this.#pending = undefined;
    if (status === 401) forgetRefusedToken(outgoing, stages);
  }
}

export function closeStream(context: RequestContext, stream: OpenStream, streams: StreamRegistry): void {
  streams.close(stream);
  if (stream.reason !== undefined) context.ended = stream.reason;
}
