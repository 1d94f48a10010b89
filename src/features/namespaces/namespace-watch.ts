/**
 * A watch of the namespaces that a user sees: a grant is ADDED, a revocation DELETED with the last state that
 * the user saw. It is made as fast as the client reads; after changes a bookmark says what the client has.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */

import { responseForm } from '../../kubernetes/lists/response-form.ts';
import { digitsIn, withDigits } from '../../kubernetes/lists/shown-revision.ts';
import type { StoredNamespace } from '../../kubernetes/rbac-v1.ts';
import { EXPIRED_EVENT, JSON_HEADERS } from '../../proxy/response/own-responses.ts';
import { recheckPeriodically } from '../../proxy/response/recheck.ts';
import type { ResponseStream, StreamedResponse } from '../../proxy/response/response-stream.ts';
import { bookmarkText, eventText, type FormContext } from './namespace-form.ts';
import {
  type FilteredNamespacesOptions,
  type NamespaceSelection,
  type NamespacesRequest,
  viewOf,
} from './namespaces-request.ts';
import type { VisibleChange, VisibleNamespaces } from './visible-namespaces.ts';

/** Each character of a selector takes up to so many bytes of memory: many short values take the most. */
const BYTES_PER_CHARACTER = 12;

/** @throws StatusError RequestMalformed, NotAcceptable */
export function watchVisible(
  request: NamespacesRequest,
  options: FilteredNamespacesOptions,
): StreamedResponse {
  const { outgoing, info, tenant, selection } = request;
  const { sendInitialEvents = false, allowWatchBookmarks, timeoutSeconds } = request.options;
  const { labelSelector, fieldSelector } = request.options;
  const { access, memory, lifetimes, clock } = options;
  const form = responseForm(outgoing.exchange.headers, info.rawQuery, { verb: 'watch', kind: 'Namespace' });
  return {
    status: 200,
    headers: JSON_HEADERS,
    bytes: BYTES_PER_CHARACTER * (labelSelector.length + fieldSelector.length),
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
        context: () => ({ form, showsTenant: tenant !== '', now: clock.now() }),
        revision: () => access.index.highestRevision,
        start,
        bookmarksInitialEvents: sendInitialEvents,
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

interface NamespaceWatchOptions {
  readonly view: VisibleNamespaces;
  readonly selection: NamespaceSelection;
  readonly context: () => FormContext;
  /** The index's. */
  readonly revision: () => number;
  /** The watch begins with all objects, or with the changes from a position on. */
  readonly start: 'all' | number;
  /** A bookmark marks the end of the initial objects. */
  readonly bookmarksInitialEvents: boolean;
  readonly allowsBookmarks: boolean;
  /** Called if the client reads so slowly that changes are not known any more: it has to list again. */
  readonly expire: () => void;
}

/** Characters that are written together: the client takes them before more events are made. */
const PIECE = 64 * 1_024;

class NamespaceWatch {
  readonly #stream: ResponseStream;
  readonly #options: NamespaceWatchOptions;
  #initial: readonly StoredNamespace[];
  #initialAt = 0;
  /** The client's position in the history of the view. */
  #position: number;
  #isFirst = true;
  #isEndBookmarkDue: boolean;
  #needsBookmark: boolean;
  #awaitsDrain = false;

  constructor(stream: ResponseStream, options: NamespaceWatchOptions) {
    const { view, start, bookmarksInitialEvents } = options;
    this.#stream = stream;
    this.#options = options;
    this.#initial = start === 'all' ? view.sorted : [];
    this.#position = start === 'all' ? view.position : start;
    this.#isEndBookmarkDue = bookmarksInitialEvents;
    this.#needsBookmark = start === 'all';
  }

  /** Writes what the client lacks, as far as it reads. To be called after each change. */
  advance(): void {
    while (!this.#stream.closed && this.#stream.isWritable) {
      const text = this.#next();
      if (text === undefined) this.#options.expire();
      if (text === undefined || text === '') return;
      this.#stream.write(text);
    }
    if (this.#awaitsDrain || this.#stream.closed) return;
    this.#awaitsDrain = true;
    this.#stream.onDrain(() => {
      this.#awaitsDrain = false;
      this.advance();
    });
  }

  /** A bookmark with which the client can go on later; empty if the client lacks something. */
  lastBookmark(): string {
    const { view, allowsBookmarks } = this.#options;
    const isComplete = this.#initialAt >= this.#initial.length && this.#position === view.position;
    return isComplete && !this.#isEndBookmarkDue && allowsBookmarks ? this.#bookmark(false) : '';
  }

  /** @returns empty if the client has everything; undefined if what it lacks is not known any more */
  #next(): string | undefined {
    const { view } = this.#options;
    let text = this.#initialPiece();
    while (
      text.length < PIECE &&
      this.#initialAt >= this.#initial.length &&
      this.#position !== view.position
    ) {
      const changes = view.changesAt(this.#position);
      if (changes === undefined) return undefined;
      this.#position += 1;
      for (const change of changes) text += this.#eventOf(change);
      this.#needsBookmark = true;
    }
    return text === '' ? this.#dueBookmark() : text;
  }

  #initialPiece(): string {
    const { selection } = this.#options;
    let text = '';
    while (text.length < PIECE && this.#initialAt < this.#initial.length) {
      const namespace = this.#initial[this.#initialAt];
      this.#initialAt += 1;
      if (namespace !== undefined && selection.matches(namespace)) text += this.#event('ADDED', namespace);
    }
    if (this.#initialAt >= this.#initial.length) {
      this.#initial = [];
      this.#initialAt = 0;
    }
    return text;
  }

  /** A namespace that begins to match the selection is ADDED; one that ceases to match is DELETED. */
  #eventOf({ before, after }: VisibleChange): string {
    const { selection } = this.#options;
    const isSame = before?.uid === after?.uid;
    const had = before !== undefined && selection.matches(before) ? before : undefined;
    const has = after !== undefined && selection.matches(after) ? after : undefined;
    if (had !== undefined && has !== undefined && isSame) return this.#event('MODIFIED', has);
    const gone = had === undefined ? '' : this.#event('DELETED', had);
    return has === undefined ? gone : `${gone}${this.#event('ADDED', has)}`;
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED', namespace: StoredNamespace): string {
    const text = eventText(type, namespace, this.#isFirst, this.#options.context());
    this.#isFirst = false;
    return text;
  }

  #dueBookmark(): string {
    const isDue = this.#options.allowsBookmarks && (this.#isEndBookmarkDue || this.#needsBookmark);
    return isDue ? this.#bookmark(this.#isEndBookmarkDue) : '';
  }

  #bookmark(isEndOfInitialEvents: boolean): string {
    const { view, revision, context } = this.#options;
    this.#isEndBookmarkDue = false;
    this.#needsBookmark = false;
    const text = bookmarkText(
      withDigits(revision(), view.digits),
      isEndOfInitialEvents,
      this.#isFirst,
      context(),
    );
    this.#isFirst = false;
    return text;
  }
}
