/**
 * One watch made of the watches of single namespaces: events pass unchanged in each namespace's order.
 * Bookmarks are merged, since a client may resume from one: it passes only when all namespaces have passed
 * its revision. Pure: lines in, lines out.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks
 */
import { MalformedJSON, stringAt } from '../../lib/json-scan.ts';
import { isBelow } from './list-part.ts';

export type BookmarkHandling =
  /** The client has asked for bookmarks. */
  | 'pass'
  /** The client has not: they only tell how far a namespace is. */
  | 'drop'
  /** They say nothing that can be relied on. */
  | 'ignore';

export interface MergedWatchOptions {
  readonly bookmarks: BookmarkHandling;
  /** The client has asked for the objects there are (`sendInitialEvents`), and a bookmark behind them. */
  readonly sendsInitialEvents: boolean;
}

export interface Step {
  /** Lines for the client, without line feed. */
  readonly lines: readonly Buffer[];
  /** The watch is over: the API server has sent an error. */
  readonly isOver: boolean;
}

interface Part {
  /** The highest revision of an event or bookmark; undefined before the first. */
  revision: string | undefined;
  bookmark: Bookmark | undefined;
  /** That says that all objects were sent. */
  initialEnd: Bookmark | undefined;
}

interface Bookmark {
  readonly line: Buffer;
  readonly revision: string;
}

const INITIAL_END = ['object', 'metadata', 'annotations', 'k8s.io/initial-events-end'];
const REVISION = ['object', 'metadata', 'resourceVersion'];
const NOTHING: Step = { lines: [], isOver: false };

export class MergedWatch {
  readonly #options: MergedWatchOptions;
  readonly #parts = new Map<string, Part>();
  #sendsInitialEvents: boolean;
  /** Revision of the last bookmark that was passed. */
  #passed: string | undefined;
  #isReduced = false;
  /** Undefined while all events pass. */
  #ceiling: string | undefined;

  constructor(namespaces: Iterable<string>, options: MergedWatchOptions) {
    this.#options = options;
    this.#sendsInitialEvents = options.sendsInitialEvents;
    for (const name of namespaces)
      this.#parts.set(name, { revision: undefined, bookmark: undefined, initialEnd: undefined });
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
        return this.#takeEvent(part, line);
      case 'BOOKMARK':
        return this.#options.bookmarks === 'ignore' ? NOTHING : this.#takeBookmark(part, line);
      case 'ERROR':
        return { lines: [line], isOver: true };
      default:
        throw new MalformedJSON('a line is no watch event');
    }
  }

  /**
   * From now on only events up to the highest revision that has passed: a client that resumes from there must
   * not lack an older one of another namespace. No bookmarks pass.
   */
  finish(): void {
    this.#ceiling = '';
    for (const { revision = '' } of this.#parts.values())
      if (isBelow(this.#ceiling, revision)) this.#ceiling = revision;
  }

  /** Nothing more of the namespace passes, and no bookmark: the client is about to begin anew. */
  remove(namespace: string): void {
    this.#parts.delete(namespace);
    this.#isReduced = true;
  }

  /** Whether events of the namespace pass. */
  has(namespace: string): boolean {
    return this.#parts.has(namespace);
  }

  /**
   * From where the watch of a namespace goes on after its end.
   *
   * @returns `start` if it has sent nothing; undefined if it has ended before all objects were sent
   */
  resumeFrom(namespace: string): { readonly revision: string } | 'start' | undefined {
    const part = this.#parts.get(namespace);
    if (part === undefined) return undefined;
    if (this.#options.sendsInitialEvents && part.initialEnd === undefined) return undefined;
    return part.revision === undefined ? 'start' : { revision: part.revision };
  }

  #takeEvent(part: Part, line: Buffer): Step {
    const revision = stringAt(line, REVISION);
    const isLate = revision !== undefined && this.#ceiling !== undefined && isBelow(this.#ceiling, revision);
    if (isLate) return NOTHING;
    advance(part, revision);
    return { lines: [line], isOver: false };
  }

  #takeBookmark(part: Part, line: Buffer): Step {
    const revision = stringAt(line, REVISION);
    if (revision === undefined) throw new MalformedJSON('a bookmark has no revision');
    advance(part, revision);
    part.bookmark = { line, revision };
    if (stringAt(line, INITIAL_END) === 'true') part.initialEnd ??= part.bookmark;
    const passing = this.#isReduced || this.#ceiling !== undefined ? undefined : this.#passing();
    if (passing === undefined || this.#options.bookmarks !== 'pass') return NOTHING;
    this.#passed = passing.revision;
    return { lines: [passing.line], isOver: false };
  }

  /** The bookmark that all namespaces have reached; undefined if it is not new. */
  #passing(): Bookmark | undefined {
    const parts = [...this.#parts.values()];
    if (this.#sendsInitialEvents) {
      const end = lowestOf(parts.map(({ initialEnd }) => initialEnd));
      if (end !== undefined) this.#sendsInitialEvents = false;
      return end;
    }
    const lowest = lowestOf(parts.map(({ bookmark }) => bookmark));
    const isNew = lowest && (this.#passed === undefined || isBelow(this.#passed, lowest.revision));
    return isNew ? lowest : undefined;
  }
}

function advance(part: Part, revision: string | undefined): void {
  if (revision === undefined) return;
  if (part.revision === undefined || isBelow(part.revision, revision)) part.revision = revision;
}

/** @returns undefined if one is missing */
function lowestOf(bookmarks: readonly (Bookmark | undefined)[]): Bookmark | undefined {
  let lowest: Bookmark | undefined;
  for (const bookmark of bookmarks) {
    if (bookmark === undefined) return undefined;
    if (lowest === undefined || isBelow(bookmark.revision, lowest.revision)) lowest = bookmark;
  }
  return lowest;
}
