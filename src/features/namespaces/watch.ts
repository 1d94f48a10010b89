/**
 * The filtered watch of namespaces: what it begins with, and how long it lasts.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-watch
 */
import { responseForm } from '../../kubernetes/lists/response-form.ts';
import { digitsIn } from '../../kubernetes/lists/shown-revision.ts';
import { EXPIRED_EVENT, JSON_HEADERS } from '../../proxy/response/own-responses.ts';
import { recheckPeriodically } from '../../proxy/response/recheck.ts';
import type { ResponseStream, StreamedResponse } from '../../proxy/response/response-stream.ts';
import { NamespaceWatch } from './namespace-watch.ts';
import { type FilteredNamespacesOptions, type NamespacesRequest, viewOf } from './request.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

/** @throws StatusError RequestMalformed, NotAcceptable */
export function watchVisible(
  request: NamespacesRequest,
  options: FilteredNamespacesOptions,
): StreamedResponse {
  const { outgoing, info, tenant, selection } = request;
  const { sendInitialEvents = false, allowWatchBookmarks, timeoutSeconds } = request.options;
  const { access, memory, lifetimes, clock } = options;
  const form = responseForm(outgoing.exchange.headers, info.rawQuery, { verb: 'watch', kind: 'Namespace' });
  return {
    status: 200,
    headers: JSON_HEADERS,
    start(stream) {
      const view = viewOf(request, options);
      const start = startOf(request, view);
      const expire = () => {
        stream.write(EXPIRED_EVENT);
        stream.end();
      };
      if (start === undefined || access.stopped.aborted) {
        expire();
        return () => {};
      }
      const watch = new NamespaceWatch(stream, {
        view,
        selection,
        context: () => ({ form, hasTenants: tenant !== '', now: clock.now() }),
        revision: () => access.index.highestRevision,
        start,
        marksInitialEvents: sendInitialEvents,
        allowsBookmarks: allowWatchBookmarks,
        expire,
      });
      const end = () => finish(stream, view, watch);
      access.stopped.addEventListener('abort', end);
      const ends = [
        memory.views.watch(view, () => watch.advance()),
        lifetimes.begin(timeoutSeconds, end),
        recheckPeriodically(outgoing, view.subject, { ...options, end, expire }),
        () => access.stopped.removeEventListener('abort', end),
      ];
      watch.advance();
      return () => {
        for (const stop of ends) stop();
      };
    },
  };
}

/** So that the client can go on from what it has. */
function finish(stream: ResponseStream, view: VisibleNamespaces, watch: NamespaceWatch): void {
  view.decide();
  stream.write(watch.lastBookmark());
  stream.end();
}

/** @returns undefined if it is not known what the client has */
function startOf(
  { options: { resourceVersion, sendInitialEvents } }: NamespacesRequest,
  view: VisibleNamespaces,
): 'all' | number | undefined {
  if (sendInitialEvents === true) return 'all';
  if (resourceVersion === '0') return sendInitialEvents === false ? view.position : 'all';
  return view.positionOf(digitsIn(resourceVersion));
}
