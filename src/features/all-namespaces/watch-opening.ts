/**
 * Opens the watches of single namespaces, as the user, until those of all permitted ones are open.
 */

import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { AdmittedParts, UpstreamResponse, UpstreamStream } from '../../kubernetes/upstream-ports.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { headerValue } from '../../lib/header-list.ts';
import { relayedResponse } from '../../proxy/response/own-responses.ts';
import type { StreamedResponse } from '../../proxy/response/response-stream.ts';
import { CONCURRENT_PARTS } from './collect-page.ts';
import { countsBookmarks, type MergedWatchOptions, MergedWatchRun } from './merged-watch.ts';
import { NamespaceRefused } from './namespace-refused.ts';
import {
  type AllNamespacesRequest,
  namespaceRequest,
  UnexpectedNamespaceResponse,
} from './namespace-request.ts';

/** Bytes of a response that is no watch. */
const MAX_REFUSAL_BYTES = 256 * 1024;

/** One watch of all namespaces before it begins. Watches that are open stay so while another is refused. */
export class WatchOpening {
  readonly #options: MergedWatchOptions;
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  /** Undefined for a namespace that the API server has no more. */
  readonly #opened = new Map<string, UpstreamStream | undefined>();
  #admitted: AdmittedParts | undefined;
  #hasBegun = false;

  /** @param client aborted when it is gone */
  constructor(options: MergedWatchOptions, client: AbortSignal) {
    this.#options = options;
    this.#signal = AbortSignal.any([client, this.#ending.signal]);
  }

  /**
   * @param first the namespace that was refused before
   * @returns undefined if the API server has none of the namespaces: then the request is forwarded as it is
   * @throws NamespaceRefused; StatusError NotAcceptable, UpstreamUnavailable, UpstreamTimeout,
   *   UpstreamRefusedCredential, TenantRateExceeded, StreamLimitExceeded
   */
  async respond(
    request: AllNamespacesRequest,
    first: string | undefined,
  ): Promise<StreamedResponse | UpstreamResponse | undefined> {
    const { outgoing, permitted } = request;
    const { tenant } = outgoing;
    const { names } = permitted;
    if (outgoing.stream) this.#options.streams.widen(outgoing.stream, names.length);
    this.#closeOthers(names);
    this.#admitted ??= this.#options.streamer.admitParts({ kind: 'tenant', tenant }, names.length);
    const { stream } = this.#admitted;
    try {
      if (first !== undefined && names.includes(first)) await this.#open(request, first, stream);
      const missing = names.filter((name) => !this.#opened.has(name));
      await mapWithConcurrency(missing, CONCURRENT_PARTS, (name) => this.#open(request, name, stream));
    } catch (error) {
      if (error instanceof UnexpectedNamespaceResponse) return relayedResponse(error.response);
      throw error;
    }
    return this.#begin(request);
  }

  /** Call it if there will be no other attempt; a watch that has begun stays open. */
  close(): void {
    this.#admitted?.release();
    if (!this.#hasBegun) this.#ending.abort();
  }

  #begin(request: AllNamespacesRequest): StreamedResponse | undefined {
    const parts = new Map([...this.#opened].flatMap(([name, stream]) => (stream ? [[name, stream]] : [])));
    const [any] = parts.values();
    if (any === undefined) return undefined;
    this.#hasBegun = true;
    const run = new MergedWatchRun({
      ...this.#options,
      request,
      parts,
      close: () => this.#ending.abort(),
    });
    return {
      status: 200,
      headers: [
        ['Content-Type', headerValue(any.headers, 'content-type') ?? JSON_TYPE],
        ['Cache-Control', 'no-cache, private'],
      ],
      start(stream) {
        run.start(stream);
        return () => run.stop();
      },
    };
  }

  /** @throws UnexpectedNamespaceResponse for any other response than 200, 403 and 404 */
  async #open(
    { outgoing, info, revision }: AllNamespacesRequest,
    name: string,
    open: AdmittedParts['stream'],
  ): Promise<void> {
    const parameters = {
      ...(revision !== '0' && { resourceVersion: revision }),
      allowWatchBookmarks: countsBookmarks(this.#options) ? 'true' : undefined,
      timeoutSeconds: undefined,
      pretty: undefined,
    };
    const request = await namespaceRequest(outgoing, info, name, parameters, this.#options);
    const stream = await open(request, this.#signal);
    switch (stream.status) {
      case 200:
        this.#opened.set(name, stream);
        return;
      case 403:
        stream.body.destroy();
        throw new NamespaceRefused(name);
      case 404:
        stream.body.destroy();
        this.#opened.set(name, undefined);
        return;
      default:
        throw new UnexpectedNamespaceResponse(await wholeResponse(stream));
    }
  }

  #closeOthers(permitted: readonly string[]): void {
    const names = new Set(permitted);
    for (const [name, stream] of this.#opened) {
      if (names.has(name)) continue;
      stream?.body.destroy();
      this.#opened.delete(name);
    }
  }
}

async function wholeResponse({ status, headers, body }: UpstreamStream): Promise<UpstreamResponse> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    if (!Buffer.isBuffer(piece)) continue;
    bytes += piece.length;
    if (bytes > MAX_REFUSAL_BYTES) break;
    pieces.push(piece);
  }
  return { status, headers, body: Buffer.concat(pieces) };
}
