/**
 * A watch of all namespaces that a user may watch: each namespace is watched as the user, and the events are
 * merged. It opens the watches; `merged-watch-run.ts` reads them. See docs/access.md.
 */

import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { UpstreamResponse, UpstreamStream, UpstreamStreamer } from '../../kubernetes/upstream-ports.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { headerValue } from '../../lib/header-list.ts';
import { relayedResponse } from '../../proxy/response/own-responses.ts';
import type { StreamedResponse } from '../../proxy/response/response-stream.ts';
import type { StreamRegistry } from '../../proxy/streams/stream-registry.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { CONCURRENT_PARTS } from './collect-page.ts';
import { MergedWatchRun, type MergedWatchRunOptions } from './merged-watch-run.ts';
import { type AllNamespacesRequest, type NamespaceRequestOptions, namespaceRequest } from './request.ts';
import { leftOut, UnexpectedNamespaceResponse } from './response.ts';

export interface MergedWatchOptions
  extends NamespaceRequestOptions,
    Pick<
      MergedWatchRunOptions,
      'clock' | 'random' | 'logger' | 'access' | 'subjects' | 'lifetimes' | 'changes' | 'subject' | 'question'
    > {
  readonly mode: NamespaceRequestOptions['mode'] & Pick<TenancyMode, 'watchEvents'>;
  readonly streamer: UpstreamStreamer;
  /** Each namespace counts against the streams of the user and the tenant. */
  readonly streams: Pick<StreamRegistry, 'widen'>;
}

/** Bytes of a response that is no watch. */
const MAX_REFUSAL_BYTES = 256 * 1024;

/**
 * @returns undefined if the API server refuses all of them: then the request is forwarded as it is
 * @throws StatusError NotAcceptable, UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential,
 *   TenantRateExceeded, StreamLimitExceeded
 */
export async function mergedWatch(
  request: AllNamespacesRequest,
  options: MergedWatchOptions,
): Promise<StreamedResponse | UpstreamResponse | undefined> {
  const { outgoing, info, permitted } = request;
  if (outgoing.stream) options.streams.widen(outgoing.stream, permitted.names.length);
  const ending = new AbortController();
  const end = () => ending.abort();
  const client = outgoing.exchange.signal;
  client.addEventListener('abort', end, { once: true });
  if (client.aborted) end();
  const close = () => {
    client.removeEventListener('abort', end);
    end();
  };
  try {
    const opened = await openAll(request, options, ending.signal);
    const parts = new Map(opened.flatMap(({ name, stream }) => (stream ? [[name, stream]] : [])));
    const [first] = parts.values();
    if (first === undefined) {
      close();
      return undefined;
    }
    const refused = opened.flatMap(({ name, isRefused }) => (isRefused ? [name] : []));
    const run = new MergedWatchRun({
      ...options,
      request,
      parts,
      close,
      countsBookmarks: countsBookmarks(options),
    });
    return {
      status: 200,
      headers: [
        ['Content-Type', headerValue(first.headers, 'content-type') ?? JSON_TYPE],
        ['Cache-Control', 'no-cache, private'],
        ...leftOut(refused, info),
      ],
      start(stream) {
        run.start(stream);
        return () => run.stop();
      },
    };
  } catch (error) {
    close();
    if (error instanceof UnexpectedNamespaceResponse) return relayedResponse(error.response);
    throw error;
  }
}

/** In Arktos a bookmark is no statement about the watch, and holds an object of any tenant. */
function countsBookmarks({ mode }: Pick<MergedWatchOptions, 'mode'>): boolean {
  return mode.watchEvents !== 'filtered';
}

interface Opened {
  readonly name: string;
  /** Undefined if the API server refuses the namespace, or has it no more. */
  readonly stream: UpstreamStream | undefined;
  readonly isRefused: boolean;
}

/** @throws UnexpectedNamespaceResponse for any other response than 200, 403 and 404 */
function openAll(
  { outgoing, info, permitted, revision }: AllNamespacesRequest,
  options: MergedWatchOptions,
  signal: AbortSignal,
): Promise<Opened[]> {
  const parameters = {
    ...(revision !== '0' && { resourceVersion: revision }),
    allowWatchBookmarks: countsBookmarks(options) ? 'true' : undefined,
    timeoutSeconds: undefined,
    pretty: undefined,
  };
  return mapWithConcurrency(permitted.names, CONCURRENT_PARTS, async (name) => {
    const request = await namespaceRequest(outgoing, info, name, parameters, options);
    const stream = await options.streamer.stream(request, signal);
    const isRefused = stream.status === 403;
    if (stream.status === 200) return { name, stream, isRefused };
    if (!isRefused && stream.status !== 404)
      throw new UnexpectedNamespaceResponse(await wholeResponse(stream));
    stream.body.destroy();
    return { name, stream: undefined, isRefused };
  });
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
