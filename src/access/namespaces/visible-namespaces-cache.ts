/**
 * The visible namespaces of the users who asked lately. A change is told only to the users whose bindings or
 * namespaces it concerns. The least recently used are dropped if there are too many.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { Change, NamespaceChange } from '../../rbac/change.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import type { SubjectKey } from '../../rbac/subject-key.ts';
import { keysAllowedIn } from '../../rbac/who-can.ts';
import { fingerprintOfSubject, valuesOf } from '../subject-changes.ts';
import { VisibleNamespaces } from './visible-namespaces.ts';

/** Milliseconds after the last use. */
const TTL = 10 * 60_000;
/** Names and keys of all users together: about 100 bytes each. */
const MAX_ENTRIES = 1_000_000;
const MAX_USERS = 10_000;

export interface VisibleNamespacesCacheOptions {
  readonly index: RBACIndex;
  readonly clock: Clock;
  readonly maxUsers?: number;
  readonly maxEntries?: number;
}

interface Entry {
  readonly view: VisibleNamespaces;
  usedAt: number;
}

export class VisibleNamespacesCache {
  readonly #index: RBACIndex;
  readonly #clock: Clock;
  readonly #maxUsers: number;
  readonly #maxEntries: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #byKey = new Map<SubjectKey, Set<VisibleNamespaces>>();
  readonly #byTenant = new Map<string, Set<VisibleNamespaces>>();
  /** What of each view is in `#size`: a view changes when it is used. */
  readonly #charged = new Map<VisibleNamespaces, number>();
  #size = 0;
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: VisibleNamespacesCacheOptions) {
    this.#index = options.index;
    this.#clock = options.clock;
    this.#maxUsers = options.maxUsers ?? MAX_USERS;
    this.#maxEntries = options.maxEntries ?? MAX_ENTRIES;
  }

  /** Users whose namespaces are cached. */
  get users(): number {
    return this.#entries.size;
  }

  /** @param tenant whose namespaces; empty if the API server has no tenants */
  viewOf(subject: SubjectByNamespace, tenant: string): VisibleNamespaces {
    const key = JSON.stringify([tenant, fingerprintOfSubject(subject)]);
    const known = this.#entries.get(key);
    if (known !== undefined) this.#entries.delete(key);
    const entry = known ?? { view: new VisibleNamespaces(this.#index, subject, tenant), usedAt: 0 };
    entry.usedAt = this.#clock.now();
    this.#entries.set(key, entry);
    if (known === undefined) this.#begin(entry.view);
    else this.#charge(entry.view);
    this.#evict();
    return entry.view;
  }

  #begin(view: VisibleNamespaces): void {
    this.#charge(view);
    for (const key of view.keys) addTo(this.#byKey, key, view);
    addTo(this.#byTenant, view.tenant, view);
    this.#unsubscribe ??= this.#index.subscribe({ changed: (change) => this.#changed(change) });
    this.#timer ??= this.#clock.after(TTL, () => this.#expire());
  }

  #charge(view: VisibleNamespaces): void {
    const size = view.size + view.keys.size;
    this.#size += size - (this.#charged.get(view) ?? 0);
    this.#charged.set(view, size);
  }

  #forget(key: string, { view }: Entry): void {
    this.#entries.delete(key);
    this.#size -= this.#charged.get(view) ?? 0;
    this.#charged.delete(view);
    for (const subject of view.keys) deleteFrom(this.#byKey, subject, view);
    deleteFrom(this.#byTenant, view.tenant, view);
    if (this.#entries.size > 0) return;
    // Nothing refers to the index of an earlier configuration then.
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #changed(change: Change): void {
    for (const view of this.#concernedBy(change)) {
      view.apply(change);
      this.#charge(view);
    }
  }

  #concernedBy(change: Change): ReadonlySet<VisibleNamespaces> {
    const views = this.#byTenant.get(change.tenant) ?? new Set();
    if (change.kind === 'namespace' && change.type !== 'ADDED')
      return new Set([...views].filter((view) => view.holds(change.namespace.name)));
    const keys = change.kind === 'access' ? change.subjects : this.#keysAllowedIn(change);
    return new Set([...valuesOf(this.#byKey, keys)].filter((view) => views.has(view)));
  }

  /** Of the subjects that may get a new namespace. */
  #keysAllowedIn({ tenant, namespace: { name } }: NamespaceChange): ReadonlySet<SubjectKey> {
    const question = { verb: 'get', apiGroup: '', resource: 'namespaces', subresource: '', name };
    return keysAllowedIn(this.#index.objectsOf(tenant), question, name);
  }

  /** What is being watched stays. */
  #evict(): void {
    if (this.#entries.size <= this.#maxUsers && this.#size <= this.#maxEntries) return;
    const last = this.#entries.size;
    let at = 0;
    for (const [key, entry] of this.#entries) {
      at += 1;
      if (at === last || (this.#entries.size <= this.#maxUsers && this.#size <= this.#maxEntries)) return;
      if (!entry.view.isWatched) this.#forget(key, entry);
    }
  }

  #expire(): void {
    this.#timer = this.#clock.after(TTL, () => this.#expire());
    const now = this.#clock.now();
    for (const [key, entry] of this.#entries) {
      if (entry.view.isWatched) entry.usedAt = now;
      else if (now - entry.usedAt >= TTL) this.#forget(key, entry);
    }
  }
}

function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, new Set([value]));
  else values.add(value);
}

function deleteFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size === 0) map.delete(key);
}
