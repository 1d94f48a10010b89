/**
 * A response handler that records every call.
 */
import type { HeaderField } from '../../../src/lib/header-list.ts';
import type { BorrowedChunk } from '../../../src/upstream/http1/borrowed-chunk.ts';
import type { ResponseHandler } from '../../../src/upstream/http1/connection.ts';
import type { PendingRequest } from '../../../src/upstream/http1/pending-request.ts';

export type HandlerCall = Extract<keyof ResponseHandler, string>;

export class Recorder implements ResponseHandler {
  readonly calls: HandlerCall[] = [];
  status: number | undefined;
  fields: readonly HeaderField[] = [];
  /** In latin1. */
  content = '';
  error: Error | undefined;
  /** Called after each call was recorded. */
  on: (call: HandlerCall) => void = () => undefined;
  /** The request whose response is recorded, so that a test can pause or cancel it. */
  pending: PendingRequest | undefined;
  readonly #ended = Promise.withResolvers<void>();

  /** Resolves with the first `onEnd` or `onFailure`. */
  get ended() {
    return this.#ended.promise;
  }

  /** The number of calls of `onEnd` and `onFailure`. */
  get ends() {
    return this.calls.filter((call) => call === 'onEnd' || call === 'onFailure').length;
  }

  onSent() {
    this.#record('onSent');
  }

  onHead(status: number, fields: HeaderField[]) {
    this.status = status;
    this.fields = fields;
    this.#record('onHead');
  }

  onData(chunk: BorrowedChunk) {
    this.content += chunk.copy().toString('latin1');
    this.#record('onData');
  }

  onEnd() {
    this.#ended.resolve();
    this.#record('onEnd');
  }

  onFailure(error: Error) {
    this.error = error;
    this.#ended.resolve();
    this.#record('onFailure');
  }

  #record(what: HandlerCall) {
    this.calls.push(what);
    this.on(what);
  }
}
