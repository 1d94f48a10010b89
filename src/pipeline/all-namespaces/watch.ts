/**
 * A watch of all namespaces that a user may watch: each namespace is watched as the user, and the events are
 * merged. It opens the watches; `merged-watch-run.ts` reads them. See docs/access.md.
 */

import { CONCURRENT_PARTS } from '../../access/all-namespaces/collect-page.ts';
import type { BookmarkHandling } from '../../access/all-namespaces/merge-watches.ts';
import { JSON_TYPE } from '../../api/meta-v1.ts';
import type { StreamRegistry } from '../../flowcontrol/stream-registry.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { headerValue } from '../../lib/header-list.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { UpstreamResponse, UpstreamStream, UpstreamStreamer } from '../ports.ts';
import type { StreamedAnswer } from '../response/answer-stream.ts';
import { relayedResponse } from '../response/relayed-response.ts';
import { MergedWatchRun, type MergedWatchRunOptions, type OpenPart } from './merged-watch-run.ts';
import { type AllNamespacesRequest, type NamespaceRequestOptions, namespaceRequest } from './request.ts';
import { EXPIRED_EVENT, leftOut, UnexpectedNamespaceResponse } from './response.ts';

export interface MergedWatchOptions extends NamespaceRequestOptions {
  readonly mode: NamespaceRequestOptions['mode'] & Pick<TenancyMode, 'watchEvents'>;
  readonly streamer: UpstreamStreamer;
  /** Each namespace counts against the streams of the user and the tenant. */
  readonly streams: Pick<StreamRegistry, 'widen'>;
}

type RunOptions = Pick<
  MergedWatchRunOptions,
  'clock' | 'random' | 'logger' | 'access' | 'permitted' | 'lifetimes' | 'decisions'
>;

/** Of a response that is no watch. */
const MAX_REFUSAL_BYTES = 256 * 1024;

/**
 * @returns undefined if the API server refuses all of them: then the request is forwarded as it is
 * @throws StatusError NotAcceptable, UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential,
 *   TenantRateExceeded, StreamLimitExceeded
 */
export async function mergedWatch(
  { outgoing, info, options: wanted, namespaces }: AllNamespacesRequest,
  options: MergedWatchOptions & RunOptions,
): Promise<StreamedAnswer | UpstreamResponse | undefined> {
  if (outgoing.stream) options.streams.widen(outgoing.stream, namespaces.length);
  const ending = new AbortController();
  const end = () => ending.abort();
  const client = outgoing.exchange.signal;
  client.addEventListener('abort', end, { once: true });
  if (client.aborted) end();
  const bookmarks = bookmarksOf(options.mode, wanted.allowWatchBookmarks);
  const open: OpenPart = async (namespace, changes) => {
    const parameters = {
      ...changes,
      allowWatchBookmarks: bookmarks === 'ignore' ? undefined : 'true',
      timeoutSeconds: undefined,
      pretty: undefined,
    };
    const request = await namespaceRequest(outgoing, info, namespace, parameters, options);
    return options.streamer.stream(request, ending.signal);
  };
  try {
    const opened = await openAll(namespaces, open);
    const parts = new Map(
      opened.flatMap(({ name, stream }) => (stream === undefined ? [] : [[name, stream]])),
    );
    const [first] = parts.values();
    if (first === undefined) {
      client.removeEventListener('abort', end);
      return undefined;
    }
    const refused = opened.flatMap(({ name, isRefused }) => (isRefused ? [name] : []));
    const run = new MergedWatchRun({
      ...options,
      tenant: outgoing.tenant,
      namespaces,
      parts,
      open,
      close: end,
      timeoutSeconds: wanted.timeoutSeconds,
      watch: { bookmarks, sendsInitialEvents: wanted.sendInitialEvents === true },
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
        return () => {
          client.removeEventListener('abort', end);
          run.stop();
        };
      },
      expired: () => EXPIRED_EVENT,
    };
  } catch (error) {
    end();
    client.removeEventListener('abort', end);
    if (error instanceof UnexpectedNamespaceResponse) return relayedResponse(error.response);
    throw error;
  }
}

/** In Arktos a bookmark is no statement about the watch, and holds an object of any tenant. */
function bookmarksOf({ watchEvents }: Pick<TenancyMode, 'watchEvents'>, isWanted: boolean): BookmarkHandling {
  if (watchEvents === 'filtered') return 'ignore';
  return isWanted ? 'pass' : 'drop';
}

interface Opened {
  readonly name: string;
  /** Undefined if the API server refuses the namespace, or has it no more. */
  readonly stream: UpstreamStream | undefined;
  readonly isRefused: boolean;
}

/** @throws UnexpectedNamespaceResponse for any other response than 200, 403 and 404 */
function openAll(namespaces: readonly string[], open: OpenPart): Promise<Opened[]> {
  return mapWithConcurrency(namespaces, CONCURRENT_PARTS, async (name) => {
    const stream = await open(name, {});
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
