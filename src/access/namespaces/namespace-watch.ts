/**
 * A watch of the namespaces that a user sees: a grant is ADDED, a revocation DELETED, a changed object
 * MODIFIED. After an event whose revision is above the one through which it is known what the user sees, a
 * bookmark takes the client back to that one, so that it misses nothing if it watches on from there.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import type { StoredNamespace } from '../../api/rbac-v1.ts';
import type { Timer } from '../../lib/clock.ts';
import type { LoggedChange } from './change-log.ts';
import { atRevision, bookmarkObject, eventText, goneNamespace } from './namespace-form.ts';
import type { EventStream, NamespaceWatchOptions } from './namespace-watch-options.ts';
import { touchedBy } from './replay.ts';
import { ShownNames } from './shown-names.ts';
import type { VisibleChange } from './visible-namespaces.ts';
import { InitialNames, type Waiting, WaitingEvents } from './waiting-events.ts';

/** Milliseconds between bookmarks. */
const BOOKMARK_PERIOD = 60_000;
/** Characters that are written together: the client takes them before more events are made. */
const PIECE = 64 * 1_024;

/** @returns ends the watch */
export function startNamespaceWatch(stream: EventStream, options: NamespaceWatchOptions): () => void {
  const watch = new NamespaceWatch(stream, options);
  watch.start();
  return () => watch.stop();
}

class NamespaceWatch {
  readonly #stream: EventStream;
  readonly #options: NamespaceWatchOptions;
  readonly #initial: InitialNames;
  readonly #waiting = new WaitingEvents();
  /** Undefined if the client has all that it may see. */
  readonly #shown: ShownNames | undefined;
  readonly #ends: (() => void)[] = [];
  #timer: Timer | undefined;
  #pending = '';
  #isFirst = true;
  #awaitsDrain = false;
  /** The highest revision that the client was shown. */
  #shownRevision = 0;
  #hasEvents = false;
  #needsBookmark = false;
  #marksEnd: boolean;
  #bookmarked = 0;

  constructor(stream: EventStream, options: NamespaceWatchOptions) {
    const { start, view, confirmation, marksInitialEvents } = options;
    this.#stream = stream;
    this.#options = options;
    this.#initial = new InitialNames(start === 'all' ? view.names : []);
    this.#shown = confirmation && new ShownNames(confirmation);
    this.#marksEnd = marksInitialEvents;
    this.#needsBookmark = start === 'all' && !marksInitialEvents;
  }

  start(): void {
    const { access, view, start } = this.#options;
    view.decide();
    if (start !== 'all') this.#replay(start);
    const end = () => this.#stream.end();
    access.stopped.addEventListener('abort', end);
    this.#ends.push(
      view.subscribe({
        changed: (change) => this.#changed(change),
        decided: () => this.#progressed(view.revision),
      }),
      access.index.subscribe({ progressed: () => this.#progressed(view.revision) }),
      this.#shown?.follow(
        (name, isAllowed) => this.#reviewed(name, isAllowed),
        (error) => this.#stream.fail(error),
      ) ?? (() => {}),
      () => access.stopped.removeEventListener('abort', end),
      () => this.#timer?.cancel(),
    );
    this.#advance();
    this.#tick();
    if (access.stopped.aborted) end();
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  /** Makes the events that wait, as far as the client takes them. */
  #advance(): void {
    this.#flush();
    while (!this.#stream.closed && this.#stream.isWritable && this.#makeNext())
      if (this.#pending.length >= PIECE) this.#flush();
    this.#flush();
    if (!this.#hasMore) this.#stream.holds(0);
    else this.#advanceLater();
  }

  #advanceLater(): void {
    if (this.#awaitsDrain || this.#stream.closed) return;
    this.#awaitsDrain = true;
    this.#stream.onDrain(() => {
      this.#awaitsDrain = false;
      this.#advance();
    });
  }

  get #hasMore(): boolean {
    return !this.#initial.isDone || !this.#waiting.isEmpty;
  }

  /** @returns whether more may wait */
  #makeNext(): boolean {
    const name = this.#initial.next();
    const waiting = name === undefined ? this.#waiting.take() : undefined;
    if (name !== undefined) this.#showInitial(name);
    else if (waiting !== undefined) this.#showWaiting(waiting);
    else if (this.#marksEnd && !this.#shown?.isConfirming) {
      this.#marksEnd = false;
      this.#bookmark(true);
    } else return false;
    return true;
  }

  #showInitial(name: string): void {
    const { selection } = this.#options;
    const namespace = this.#confirmed(name);
    if (namespace === undefined) this.#addUnreviewed(name);
    else if (selection.matches(namespace)) this.#show('ADDED', namespace);
  }

  #showWaiting({ name, isShown, gone }: Waiting): void {
    const { view, selection } = this.#options;
    if (gone !== undefined) this.#hide(gone);
    const namespace = view.told(name);
    if (namespace === undefined || !selection.matches(namespace)) return;
    if (isShown && gone === undefined) this.#show('MODIFIED', namespace);
    else this.#add(namespace);
  }

  #confirmed(name: string): StoredNamespace | undefined {
    return this.#shown?.allowed.has(name) === false ? undefined : this.#options.view.told(name);
  }

  /** A name that became visible after the reviews. */
  #addUnreviewed(name: string): void {
    const namespace = this.#options.view.told(name);
    if (namespace !== undefined && this.#shown?.isUnreviewed(name)) this.#add(namespace);
  }

  /** What the changes concern is told as it is now; all else the client knows. */
  #replay(changes: readonly LoggedChange[]): void {
    const { view, selection } = this.#options;
    for (const name of this.#shown?.allowed ?? []) {
      const namespace = view.told(name);
      if (namespace !== undefined && selection.matches(namespace)) this.#shown?.add(name);
    }
    for (const name of this.#shown?.revoked ?? []) this.#revoke(name);
    for (const [name, touched] of touchedBy(changes, view)) {
      if (!selection.mayMatch(name)) continue;
      const namespace = this.#confirmed(name);
      if (namespace !== undefined && selection.matches(namespace))
        this.#show(touched.isNew ? 'ADDED' : 'MODIFIED', namespace);
      else if (namespace !== undefined) this.#hide(namespace);
      // Visible by the index, but not confirmed: its name is not told.
      else if (view.told(name) !== undefined) this.#addUnreviewed(name);
      else if (view.hasSeen(name) || view.covers(name))
        this.#hide(goneNamespace(name, view.tenant, touched.revision));
      if (touched.byAccess) this.#needsBookmark = true;
    }
  }

  /** The API server refuses a name that it has allowed before. */
  #revoke(name: string): void {
    const { view, selection, access } = this.#options;
    if (!selection.mayMatch(name)) return;
    this.#needsBookmark = true;
    this.#hide(goneNamespace(name, view.tenant, access.index.revision));
  }

  /** The API server comes to refuse a name, or to allow it. */
  #reviewed(name: string, isAllowed: boolean): void {
    const { view, selection, access } = this.#options;
    const isShown = this.#shown?.has(name) === true;
    const namespace = view.told(name);
    // It is told as it will be then.
    if (isAllowed === isShown || this.#initial.isPending(name)) return;
    if (isAllowed && (namespace === undefined || !selection.matches(namespace))) return;
    this.#needsBookmark = true;
    const gone = goneNamespace(name, view.tenant, access.index.revision);
    if (this.#isBehind) this.#wait(name, isShown, isAllowed ? undefined : gone);
    else if (!isAllowed) this.#hide(gone);
    else if (namespace !== undefined) this.#show('ADDED', namespace);
  }

  #changed(change: VisibleChange): void {
    const { type, namespace, before, revision, cause } = change;
    // It is told as it will be then.
    if (this.#initial.isPending(namespace.name)) return;
    if (cause === 'access') this.#needsBookmark = true;
    const isShown = this.#isShown(change);
    const isGone = type === 'DELETED' || !this.#options.selection.matches(namespace);
    const gone = isGone && isShown ? atRevision(before ?? namespace, revision) : undefined;
    if (this.#isBehind) this.#wait(namespace.name, isShown, gone);
    else if (gone !== undefined) this.#hide(gone);
    else if (!isGone && isShown) this.#show('MODIFIED', namespace);
    else if (!isGone) this.#add(namespace);
  }

  get #isBehind(): boolean {
    return !this.#stream.isWritable || !this.#waiting.isEmpty || this.#pending.length >= PIECE;
  }

  #isShown({ type, namespace, before }: VisibleChange): boolean {
    if (this.#shown !== undefined) return this.#shown.has(namespace.name);
    return type !== 'ADDED' && this.#options.selection.matches(before ?? namespace);
  }

  /** @param gone undefined if the client is to have it */
  #wait(name: string, isShown: boolean, gone: StoredNamespace | undefined): void {
    this.#waiting.add(name, isShown, gone);
    this.#stream.holds(this.#waiting.bytes);
    if (this.#pending === '') this.#advanceLater();
  }

  #add(namespace: StoredNamespace): void {
    const { view, selection } = this.#options;
    if (this.#shown === undefined) {
      this.#show('ADDED', namespace);
      return;
    }
    const { name } = namespace;
    this.#shown.confirm(name).then(
      (isConfirmed) => {
        const current = isConfirmed && !this.#shown?.has(name) ? view.told(name) : undefined;
        if (current !== undefined) this.#needsBookmark = true;
        if (current !== undefined && selection.matches(current)) this.#show('ADDED', current);
        this.#advance();
      },
      (error: unknown) => this.#stream.fail(error),
    );
  }

  #show(type: 'ADDED' | 'MODIFIED', namespace: StoredNamespace): void {
    this.#shown?.add(namespace.name);
    this.#event(type, namespace);
  }

  #hide(namespace: StoredNamespace): void {
    this.#shown?.delete(namespace.name);
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
    if (this.#pending === '') queueMicrotask(() => this.#advance());
    this.#pending += eventText(type, namespace, this.#isFirst, { form, hasTenants, now: clock.now() });
    this.#isFirst = false;
  }

  #flush(): void {
    const isEarly = this.#shownRevision > this.#options.view.revision;
    if (!this.#hasMore && this.#hasEvents && (this.#needsBookmark || isEarly)) this.#bookmark();
    const text = this.#pending;
    this.#pending = '';
    if (text !== '') this.#stream.write(text);
  }

  /** Not while something waits: a client that resumes from there would never learn it. */
  #bookmark(isEndOfInitialEvents = false): void {
    const { view, allowsBookmarks } = this.#options;
    if (!allowsBookmarks || this.#hasMore || this.#shown?.isConfirming) return;
    this.#hasEvents = false;
    this.#needsBookmark = false;
    this.#bookmarked = view.revision;
    this.#enqueue('BOOKMARK', bookmarkObject(this.#bookmarked, isEndOfInitialEvents));
  }

  /** The client may forget the changes that it was told too early to count. */
  #progressed(revision: number): void {
    const isTold = this.#shownRevision <= this.#bookmarked || this.#pending !== '';
    if (!isTold && revision >= this.#shownRevision) this.#bookmark();
  }

  #tick(): void {
    const { access, clock, view } = this.#options;
    this.#timer = clock.after(BOOKMARK_PERIOD, () => {
      if (access.state(view.subject.cluster.tenant) === 'current') {
        if (this.#stream.isWritable) this.#bookmark();
        this.#tick();
      } else this.#stream.end();
    });
  }
}
