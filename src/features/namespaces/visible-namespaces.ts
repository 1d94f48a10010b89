/**
 * The namespaces that one identity may `get`, in the order of their names, and a short history of what has
 * changed. Requests and watches of the identity share it: a watch is a position in the history.
 */

import { LRUCache } from 'lru-cache';
import { ContentHash } from '../../kubernetes/lists/shown-revision.ts';
import type { StoredNamespace } from '../../kubernetes/rbac-v1.ts';
import { VISIBLE_NAMES_BYTES } from '../../limits/memory-bounds.ts';
import type { AccessChanges, AccessFollower, Concerns } from '../../rbac/access-changes.ts';
import { type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import type { Change } from '../../rbac/change.ts';
import {
  allowedNamespaces,
  isAllowedIn,
  type NamespacesQuestion,
  visibleNamespaces,
} from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { lowerBound } from '../../rbac/sorted-bindings.ts';
import { fingerprintOfSubject, keysOfSubject } from '../../rbac/subject-key.ts';

export interface VisibleChange {
  /** Undefined if the user did not see it. */
  readonly before: StoredNamespace | undefined;
  /** Undefined if the user does not see it any more. */
  readonly after: StoredNamespace | undefined;
}

/** The changes of one decision. */
interface HistoryEntry {
  readonly digitsBefore: string;
  readonly changes: readonly VisibleChange[];
  readonly bytes: number;
}

/** The key of a due decision about all namespaces. */
const ALL = '';
/** Above this number of due decisions the whole view is decided anew, which costs no more. */
const MAX_DUE = 64;
const MAX_HISTORY = 1_000;
/** Bounds the objects in the history, whose length is decided by users who may write them. */
const MAX_HISTORY_BYTES = 256 * 1024;
const NAME_BYTES = 16;
const KEY_BYTES = 100;
const VIEW_BYTES = 2_000;

export class VisibleNamespaces implements AccessFollower {
  readonly subject: SubjectByNamespace;
  readonly concerns: Concerns;
  readonly namespacesOf: string;
  readonly #index: RBACIndex;
  readonly #question: NamespacesQuestion;
  readonly #hash = new ContentHash();
  readonly #due = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #sorted: readonly StoredNamespace[];
  #history: HistoryEntry[] = [];
  /** Position of the first entry of the history. */
  #first = 0;
  #historyBytes = 0;

  /** @param tenant whose namespaces are shown; empty if the API server has no tenants */
  constructor(index: RBACIndex, subject: SubjectByNamespace, tenant: string) {
    this.#index = index;
    this.subject = subject;
    this.concerns = { tenant: subject.cluster.tenant, keys: keysOfSubject(subject) };
    this.namespacesOf = tenant;
    this.#question = visibleNamespaces(tenant);
    this.#sorted = [...this.#allowed().values()].sort(byName);
    for (const namespace of this.#sorted) this.#hash.add(contentOf(namespace));
  }

  /** Never changed: another array takes its place. */
  get sorted(): readonly StoredNamespace[] {
    return this.#sorted;
  }

  /** A hash of the names and revisions. */
  get digits(): string {
    return this.#hash.digits;
  }

  /** Position behind the last change. */
  get position(): number {
    return this.#first + this.#history.length;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  /** An estimate of the memory. */
  get bytes(): number {
    return (
      VIEW_BYTES + this.#sorted.length * NAME_BYTES + this.concerns.keys.size * KEY_BYTES + this.#historyBytes
    );
  }

  /** @returns the position at which the user saw what has these digits; undefined if that is not known */
  positionOf(digits: string): number | undefined {
    if (digits === this.digits) return this.position;
    const at = this.#history.findLastIndex(({ digitsBefore }) => digitsBefore === digits);
    return at === -1 ? undefined : this.#first + at;
  }

  /** @returns the changes that were decided at once; undefined if they are not known any more */
  changesAt(position: number): readonly VisibleChange[] | undefined {
    return this.#history[position - this.#first]?.changes;
  }

  /** @param changed called after each change @returns ends it */
  watch(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  changed(change: Change): boolean {
    const names = change.kind === 'namespace' ? [change.namespace.name] : change.namespaces;
    const mayBeSeen = change.kind === 'access' || change.type === 'ADDED' || change.type === 'RELABELLED';
    for (const name of names) if (mayBeSeen || this.#find(name) !== undefined) this.#due.add(name);
    if (this.#due.size > MAX_DUE) {
      this.#due.clear();
      this.#due.add(ALL);
    }
    return this.#due.size > 0 && this.isWatched;
  }

  reset(): void {
    this.#first = this.position + 1;
    this.#history = [];
    this.#historyBytes = 0;
    this.#due.add(ALL);
    this.decide();
    this.#notify();
  }

  /** Makes the decisions that are due. To be called before anything is read for a request. */
  decide(): void {
    if (this.#due.size === 0) return;
    const changes: VisibleChange[] = [];
    for (const [name, after] of this.#wanted()) {
      const before = this.#find(name);
      if (before !== after) changes.push({ before, after });
    }
    this.#due.clear();
    if (changes.length === 0) return;
    const digitsBefore = this.digits;
    this.#apply(changes.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)));
    const bytes = changes.reduce((sum, { before, after }) => sum + sizeOf(before) + sizeOf(after), 0);
    this.#history.push({ digitsBefore, changes, bytes });
    this.#historyBytes += bytes;
    this.#notify();
    this.#trim();
  }

  *#wanted(): Generator<readonly [string, StoredNamespace | undefined]> {
    if (!this.#due.has(ALL)) {
      for (const name of this.#due) yield [name, this.#allowedAs(name)];
      return;
    }
    const allowed = this.#allowed();
    for (const { name } of this.#sorted) if (!allowed.has(name)) yield [name, undefined];
    yield* allowed;
  }

  #allowed(): Map<string, StoredNamespace> {
    return allowedNamespaces(this.#index, this.subject, this.#question, 'visible');
  }

  #allowedAs(name: string): StoredNamespace | undefined {
    const namespace = this.#index.objectsOf(this.namespacesOf).namespaces.get(name);
    if (namespace === undefined) return undefined;
    const user = subjectIn(this.subject, name);
    return isAllowedIn(this.#index, user, this.#question, name, 'visible') ? namespace : undefined;
  }

  #find(name: string): StoredNamespace | undefined {
    const found = this.#sorted[positionIn(this.#sorted, name)];
    return found?.name === name ? found : undefined;
  }

  #apply(changes: readonly VisibleChange[]): void {
    const parts: (readonly StoredNamespace[])[] = [];
    let from = 0;
    for (const change of changes) {
      const { before, after } = change;
      const at = positionIn(this.#sorted, nameOf(change));
      parts.push(this.#sorted.slice(from, at), after === undefined ? [] : [after]);
      from = before === undefined ? at : at + 1;
      if (before !== undefined) this.#hash.remove(contentOf(before));
      if (after !== undefined) this.#hash.add(contentOf(after));
    }
    parts.push(this.#sorted.slice(from));
    this.#sorted = parts.flat();
  }

  #trim(): void {
    while (this.#history.length > MAX_HISTORY || this.#historyBytes > MAX_HISTORY_BYTES) {
      this.#historyBytes -= this.#history.shift()?.bytes ?? 0;
      this.#first += 1;
    }
  }

  #notify(): void {
    for (const changed of [...this.#listeners]) changed();
  }
}

/** The position of the first one whose name is not before it. */
export function positionIn(sorted: readonly StoredNamespace[], name: string): number {
  return lowerBound(sorted, (namespace) => namespace.name < name);
}

function contentOf({ name, revision }: StoredNamespace): string {
  return `${name}/${revision}`;
}

function nameOf({ before, after }: VisibleChange): string {
  return (after ?? before)?.name ?? '';
}

function sizeOf(namespace: StoredNamespace | undefined): number {
  return namespace?.json.length ?? 0;
}

function byName(one: StoredNamespace, other: StoredNamespace): number {
  return one.name < other.name ? -1 : 1;
}

interface Cached {
  readonly view: VisibleNamespaces;
  readonly unfollow: () => void;
}

/**
 * The visible namespaces of the identities that asked lately: each is computed once, and follows the changes
 * of the index. Those that a watch shows go on following while it is open.
 */
export class VisibleNamespacesCache {
  readonly #index: RBACIndex;
  readonly #changes: AccessChanges;
  readonly #views = new LRUCache<string, Cached>({
    maxSize: VISIBLE_NAMES_BYTES,
    sizeCalculation: ({ view }) => view.bytes,
    dispose: ({ view, unfollow }, _key, reason) => {
      if (reason !== 'set' && !view.isWatched) unfollow();
    },
  });

  constructor(index: RBACIndex, changes: AccessChanges) {
    this.#index = index;
    this.#changes = changes;
  }

  /**
   * Returns the current view of an identity.
   *
   * @param tenant whose namespaces are shown; empty if the API server has no tenants
   */
  viewOf(subject: SubjectByNamespace, tenant: string): VisibleNamespaces {
    const key = keyOf(subject, tenant);
    const cached = this.#views.get(key) ?? this.#follow(new VisibleNamespaces(this.#index, subject, tenant));
    cached.view.decide();
    // The entry is set again because its size may have changed.
    this.#views.set(key, cached);
    return cached.view;
  }

  /** @param changed called after each change of the view @returns ends it */
  watch(view: VisibleNamespaces, changed: () => void): () => void {
    const key = keyOf(view.subject, view.namespacesOf);
    const known = this.#views.get(key);
    const cached = known?.view === view ? known : this.#follow(view);
    const unwatch = view.watch(changed);
    return () => {
      unwatch();
      // The client is likely to come back, unless another view of the identity has taken its place.
      const current = this.#views.get(key);
      if (current === undefined) this.#views.set(key, cached);
      if (this.#views.get(key)?.view !== view && !view.isWatched) cached.unfollow();
    };
  }

  #follow(view: VisibleNamespaces): Cached {
    return { view, unfollow: this.#changes.follow(view) };
  }
}

function keyOf(subject: SubjectByNamespace, tenant: string): string {
  return JSON.stringify([tenant, fingerprintOfSubject(subject)]);
}
