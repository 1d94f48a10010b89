/**
 * One watch made of the watches of single namespaces: events pass unchanged in each namespace's order.
 * Bookmarks are Stonegate's own: each has the lowest revision that all namespaces have passed, so a client
 * that resumes from one lacks nothing. Pure: lines in, lines out.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks
 */

import { withDigits } from '../../kubernetes/lists/shown-revision.ts';
import { MalformedJSON, stringAt } from '../../lib/json-scan.ts';
import { isBelow, lowest } from './list-part.ts';

export interface MergedWatchOptions {
  readonly namespaces: Iterable<string>;
  /** The revision from which all are watched; undefined if they begin with the existing objects. */
  readonly revision: string | undefined;
  /** The hash of the permitted namespaces. */
  readonly digits: string;
  /** The client has asked for bookmarks. */
  readonly allowsBookmarks: boolean;
  /** The client has asked for a bookmark after the existing objects (`sendInitialEvents`). */
  readonly bookmarksInitialEvents: boolean;
  /** Whether the API server's bookmarks say something about the watch that they are in. */
  readonly countsBookmarks: boolean;
}

export interface Step {
  /** Lines for the client, without line feed. */
  readonly lines: readonly Buffer[];
  /** The watch is over: the API server has sent an error. */
  readonly isOver: boolean;
}

interface Part {
  /** The client has all changes of the namespace up to this revision; undefined until that is known. */
  revision: string | undefined;
  /** A bookmark has said that all objects were sent. */
  hasEnded: boolean;
}

/** The kind of the client's objects, which a bookmark must have too: some clients decode one kind only. */
interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
}

const INITIAL_END = ['object', 'metadata', 'annotations', 'k8s.io/initial-events-end'];
const REVISION = ['object', 'metadata', 'resourceVersion'];
const NOTHING: Step = { lines: [], isOver: false };

export class MergedWatch {
  readonly #options: MergedWatchOptions;
  readonly #parts = new Map<string, Part>();
  #isEndBookmarkDue: boolean;
  #kind: Kind | undefined;
  /** Revision of the last bookmark. */
  #passed: string | undefined;
  #hasEvents = false;

  constructor(options: MergedWatchOptions) {
    const { namespaces, revision, bookmarksInitialEvents } = options;
    this.#options = options;
    this.#isEndBookmarkDue = bookmarksInitialEvents;
    for (const name of namespaces) this.#parts.set(name, { revision, hasEnded: false });
  }

  /**
   * @param line of the namespace's watch, without line feed
   * @throws MalformedJSON for what is no watch event
   */
  take(namespace: string, line: Buffer): Step {
    const part = this.#parts.get(namespace);
    if (part === undefined) return NOTHING;
    switch (stringAt(line, ['type'])) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        this.#kind = kindOf(line) ?? this.#kind;
        this.#hasEvents = true;
        // The objects that there are come in any order.
        if (part.revision !== undefined) advance(part, stringAt(line, REVISION));
        return { lines: [line], isOver: false };
      case 'BOOKMARK':
        if (this.#options.countsBookmarks) this.#takeBookmark(part, line);
        return NOTHING;
      case 'ERROR':
        return { lines: [line], isOver: true };
      default:
        throw new MalformedJSON('a line is no watch event');
    }
  }

  /** @returns the bookmark that is due after what was taken; undefined if none is */
  bookmark(): Buffer | undefined {
    const { allowsBookmarks, digits } = this.#options;
    const revision = this.#lowest();
    if (!allowsBookmarks || revision === undefined || this.#kind === undefined) return undefined;
    if (this.#isEndBookmarkDue && [...this.#parts.values()].some(({ hasEnded }) => !hasEnded))
      return undefined;
    const isDue = this.#isEndBookmarkDue || this.#hasEvents || this.#passed !== revision;
    if (!isDue) return undefined;
    const metadata = {
      resourceVersion: withDigits(revision, digits),
      ...(this.#isEndBookmarkDue && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
    };
    this.#isEndBookmarkDue = false;
    this.#hasEvents = false;
    this.#passed = revision;
    const table = this.#kind.kind === 'Table' && { columnDefinitions: null, rows: [] };
    return Buffer.from(JSON.stringify({ type: 'BOOKMARK', object: { ...this.#kind, metadata, ...table } }));
  }

  #takeBookmark(part: Part, line: Buffer): void {
    const revision = stringAt(line, REVISION);
    if (revision === undefined) throw new MalformedJSON('a bookmark has no revision');
    this.#kind ??= kindOf(line);
    if (stringAt(line, INITIAL_END) === 'true') part.hasEnded = true;
    advance(part, revision);
  }

  /** @returns undefined if one is not known */
  #lowest(): string | undefined {
    let found: string | undefined;
    for (const { revision } of this.#parts.values()) {
      if (revision === undefined) return undefined;
      found = lowest(found, revision);
    }
    return found;
  }
}

function kindOf(line: Buffer): Kind | undefined {
  const kind = stringAt(line, ['object', 'kind']);
  const apiVersion = stringAt(line, ['object', 'apiVersion']);
  return kind === undefined || apiVersion === undefined ? undefined : { kind, apiVersion };
}

function advance(part: Part, revision: string | undefined): void {
  if (revision === undefined) return;
  if (part.revision === undefined || isBelow(part.revision, revision)) part.revision = revision;
}
