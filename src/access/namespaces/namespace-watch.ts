/**
 * A watch of the namespaces that a user sees: a grant is ADDED, a revocation DELETED, a changed object
 * MODIFIED. After an event whose revision is above the one through which the index is complete, a bookmark
 * takes the client back to that one, so that it misses nothing if it watches on from there.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import type { StoredNamespace } from '../../api/rbac-v1.ts';
import { type Clock, runAt, type Timer } from '../../lib/clock.ts';
import type { AccessChange, Change } from '../../rbac/change.ts';
import type { ResponseForm } from '../lists/response-form.ts';
import type { AccessIndex } from '../ports.ts';
import { atRevision, bookmarkObject, eventText, goneNamespace } from './namespace-form.ts';
import type { NamespaceSelection } from './namespace-list.ts';
import type { VisibleChange, VisibleNamespaces } from './visible-namespaces.ts';

/** The client's end. */
export interface EventStream {
  readonly closed: boolean;
  write(text: string): void;
  end(): void;
}

export interface NamespaceWatchOptions {
  readonly access: AccessIndex;
  readonly view: VisibleNamespaces;
  readonly selection: NamespaceSelection;
  readonly form: ResponseForm;
  readonly hasTenants: boolean;
  readonly clock: Clock;
  /** With what it begins: all objects; those that these changes concern; or nothing. */
  readonly start: 'all' | readonly Change[];
  /** The initial objects end with a bookmark that says so. */
  readonly marksInitialEvents: boolean;
  readonly allowsBookmarks: boolean;
  /** Milliseconds after which the watch ends. */
  readonly timeout: number;
  /** Absent if all visible names are shown. */
  readonly confirmation?: NameConfirmation;
  /** Whether the index has lost its trust for this user: then the watch ends. */
  readonly isSuspended: () => boolean;
}

/** Names that the API server has to confirm before they are shown. */
export interface NameConfirmation {
  /** The names that were reviewed before the watch began. */
  readonly reviewed: ReadonlySet<string>;
  /** Those of them that are shown. */
  readonly confirmed: ReadonlySet<string>;
  /** Whether a name that was not reviewed, or becomes visible, is shown. */
  readonly confirm: (name: string) => Promise<boolean>;
}

/** Milliseconds between bookmarks. */
const BOOKMARK_PERIOD = 60_000;

/** @returns ends the watch */
export function startNamespaceWatch(stream: EventStream, options: NamespaceWatchOptions): () => void {
  const watch = new NamespaceWatch(stream, options);
  watch.start();
  return () => watch.stop();
}

class NamespaceWatch {
  readonly #stream: EventStream;
  readonly #options: NamespaceWatchOptions;
  /** The names that the client has, as far as they are known. */
  readonly #shown = new Set<string>();
  readonly #ends: (() => void)[] = [];
  #timer: Timer | undefined;
  #pending = '';
  #isFirst = true;
  /** The highest revision that the client was shown. */
  #shownRevision = 0;
  #hasEvents = false;
  #needsBookmark = false;
  #bookmarked = 0;

  constructor(stream: EventStream, options: NamespaceWatchOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  start(): void {
    const { access, view, clock, timeout, start, marksInitialEvents } = this.#options;
    if (start === 'all') this.#showAll();
    else this.#replay(start);
    if (marksInitialEvents) this.#bookmark(true);
    else if (start === 'all') this.#needsBookmark = true;
    this.#flush();
    const end = () => this.#stream.end();
    const lifetime = runAt(clock, clock.now() + timeout, end);
    access.stopped.addEventListener('abort', end);
    this.#ends.push(
      view.subscribe((change) => this.#changed(change)),
      access.index.subscribe({ progressed: (revision) => this.#progressed(revision) }),
      () => lifetime.cancel(),
      () => access.stopped.removeEventListener('abort', end),
      () => this.#timer?.cancel(),
    );
    this.#tick();
    if (access.stopped.aborted) end();
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  #showAll(): void {
    const { view, selection } = this.#options;
    for (const name of view.names) {
      const namespace = this.#confirmed(name);
      if (namespace === undefined) this.#addUnreviewed(name);
      else if (selection.matches(namespace)) this.#show('ADDED', namespace);
    }
  }

  #confirmed(name: string): StoredNamespace | undefined {
    const { confirmation, view } = this.#options;
    return confirmation === undefined || confirmation.confirmed.has(name) ? view.get(name) : undefined;
  }

  /** A name that became visible after the reviews. */
  #addUnreviewed(name: string): void {
    const { confirmation, view } = this.#options;
    const namespace = view.get(name);
    if (namespace !== undefined && confirmation?.reviewed.has(name) === false) this.#add(namespace);
  }

  /** What the changes concern is told as it is now; all else the client knows. */
  #replay(changes: readonly Change[]): void {
    const { view, selection } = this.#options;
    for (const name of view.names) {
      const namespace = this.#confirmed(name);
      if (namespace !== undefined && selection.matches(namespace)) this.#shown.add(name);
    }
    for (const [name, touched] of [...touchedBy(changes, view)].sort(byName)) {
      if (!selection.mayMatch(name)) continue;
      const namespace = this.#confirmed(name);
      if (namespace !== undefined && selection.matches(namespace))
        this.#show(touched.isNew ? 'ADDED' : 'MODIFIED', namespace);
      else if (namespace !== undefined) this.#hide(namespace);
      // Visible by the index, but not confirmed: its name is not told.
      else if (view.get(name) !== undefined) this.#addUnreviewed(name);
      else if (view.hasSeen(name) || view.covers(name))
        this.#hide(goneNamespace(name, view.tenant, touched.revision));
      if (touched.byAccess) this.#needsBookmark = true;
    }
  }

  #changed({ type, namespace, before, revision, cause }: VisibleChange): void {
    const { selection } = this.#options;
    const isShown = this.#shown.has(namespace.name);
    if (cause === 'access') this.#needsBookmark = true;
    if (type !== 'DELETED' && selection.matches(namespace)) {
      if (isShown) this.#show('MODIFIED', namespace);
      else this.#add(namespace);
    } else if (isShown) this.#hide(atRevision(before ?? namespace, revision));
  }

  #add(namespace: StoredNamespace): void {
    const { confirmation, view, selection } = this.#options;
    if (confirmation === undefined) {
      this.#show('ADDED', namespace);
      return;
    }
    const { name } = namespace;
    confirmation.confirm(name).then(
      (isConfirmed) => {
        const current = view.get(name);
        if (!isConfirmed || current === undefined || this.#shown.has(name)) return;
        this.#needsBookmark = true;
        if (selection.matches(current)) this.#show('ADDED', current);
      },
      // The client asks again, and learns why.
      () => this.#stream.end(),
    );
  }

  #show(type: 'ADDED' | 'MODIFIED', namespace: StoredNamespace): void {
    this.#shown.add(namespace.name);
    this.#event(type, namespace);
  }

  #hide(namespace: StoredNamespace): void {
    this.#shown.delete(namespace.name);
    this.#event('DELETED', namespace);
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED', namespace: StoredNamespace): void {
    this.#hasEvents = true;
    this.#shownRevision = Math.max(this.#shownRevision, namespace.revision);
    this.#enqueue(type, namespace);
  }

  #enqueue(type: Parameters<typeof eventText>[0], namespace: StoredNamespace): void {
    const { form, hasTenants, clock } = this.#options;
    if (this.#stream.closed) return;
    // Together with what comes from the same chunk of the index's watch, and one bookmark behind it.
    if (this.#pending === '') queueMicrotask(() => this.#flush());
    this.#pending += eventText(type, namespace, this.#isFirst, { form, hasTenants, now: clock.now() });
    this.#isFirst = false;
  }

  #flush(): void {
    if (this.#pending === '') return;
    const isEarly = this.#shownRevision > this.#options.access.index.revision;
    if (this.#hasEvents && (this.#needsBookmark || isEarly)) this.#bookmark();
    const text = this.#pending;
    this.#pending = '';
    this.#hasEvents = false;
    this.#needsBookmark = false;
    this.#stream.write(text);
  }

  #bookmark(isEndOfInitialEvents = false): void {
    const { access, allowsBookmarks } = this.#options;
    if (!allowsBookmarks) return;
    this.#bookmarked = access.index.revision;
    this.#enqueue('BOOKMARK', bookmarkObject(this.#bookmarked, isEndOfInitialEvents));
  }

  /** The client may forget the changes that it was told too early to count. */
  #progressed(revision: number): void {
    const isTold = this.#shownRevision <= this.#bookmarked || this.#pending !== '';
    if (!isTold && revision >= this.#shownRevision) this.#bookmark();
  }

  #tick(): void {
    const { access, clock, isSuspended } = this.#options;
    this.#timer = clock.after(BOOKMARK_PERIOD, () => {
      if (access.state() === 'current' && !isSuspended()) {
        this.#bookmark();
        this.#tick();
      } else this.#stream.end();
    });
  }
}

interface Touched {
  readonly revision: number;
  readonly byAccess: boolean;
  /** False if only the object has changed. */
  readonly isNew: boolean;
}

function touchedBy(changes: readonly Change[], view: VisibleNamespaces): Map<string, Touched> {
  const touched = new Map<string, Touched>();
  const touch = (name: string, revision: number, byAccess: boolean, isNew: boolean) => {
    const before = touched.get(name);
    touched.set(name, {
      revision: Math.max(revision, before?.revision ?? 0),
      byAccess: byAccess || before?.byAccess === true,
      isNew: isNew || before?.isNew === true,
    });
  };
  for (const change of changes) {
    if (change.tenant !== view.tenant) continue;
    const { revision } = change;
    if (change.kind === 'namespace')
      touch(change.namespace.name, revision, false, change.type !== 'MODIFIED');
    else if (view.concerns(change)) for (const name of change.namespaces) touch(name, revision, true, true);
  }
  return touched;
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

/**
 * Whether a watch can go on after the changes. If one concerned the whole cluster, or may have taken a
 * namespace before it was known what the user sees, it is not known which namespaces the client has; and a
 * name that the user never saw must not be told.
 */
export function canReplay(changes: readonly Change[], view: VisibleNamespaces): boolean {
  return changes.every(
    (change) =>
      change.kind === 'namespace' ||
      change.tenant !== view.tenant ||
      !view.concerns(change) ||
      (!change.namespaces.has('') && (view.hasSeenSince(change.revision) || seesAll(change, view))),
  );
}

function seesAll({ namespaces }: AccessChange, view: VisibleNamespaces): boolean {
  return [...namespaces].every((name) => view.get(name) !== undefined);
}
