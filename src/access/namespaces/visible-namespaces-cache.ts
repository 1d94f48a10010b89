/**
 * The visible namespaces of the users who asked lately, and of open watches. A change is told only to the
 * users whose bindings or namespaces it concerns; for watches the decisions are made soon, in turn between
 * tenants.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { TurnQueue } from '../../lib/turn-queue.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { Change, NamespaceChange } from '../../rbac/change.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import type { SubjectKey } from '../../rbac/subject-key.ts';
import { keysAllowedIn } from '../../rbac/who-can.ts';
import { createDecisionQueue } from '../decision-queue.ts';
import { fingerprintOfSubject, valuesOf } from '../subject-changes.ts';
import { HeldViews } from './held-views.ts';
import { IdleViews } from './idle-views.ts';
import { VisibleNamespaces } from './visible-namespaces.ts';

/** Milliseconds after the last use. */
const TTL = 10 * 60_000;

export interface VisibleNamespacesCacheOptions {
  readonly index: RBACIndex;
  readonly clock: Clock;
  readonly idle?: IdleViews;
  readonly held?: HeldViews;
  /** Makes the decisions that are due for watches. */
  readonly decisions?: TurnQueue<VisibleNamespaces>;
}

export class VisibleNamespacesCache {
  readonly #index: RBACIndex;
  readonly #clock: Clock;
  readonly #idle: IdleViews;
  readonly #held: HeldViews;
  readonly #decisions: TurnQueue<VisibleNamespaces>;
  /** Those that are idle, and those that are held. */
  readonly #views = new Map<string, VisibleNamespaces>();
  readonly #byKey = new Map<SubjectKey, Set<VisibleNamespaces>>();
  readonly #byTenant = new Map<string, Set<VisibleNamespaces>>();
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: VisibleNamespacesCacheOptions) {
    this.#index = options.index;
    this.#clock = options.clock;
    this.#idle = options.idle ?? new IdleViews();
    this.#held = options.held ?? new HeldViews();
    this.#decisions = options.decisions ?? createDecisionQueue(options.clock);
  }

  /** Users whose namespaces are cached. */
  get users(): number {
    return this.#views.size;
  }

  /** @param tenant whose namespaces; empty if the API server has no tenants */
  viewOf(subject: SubjectByNamespace, tenant: string): VisibleNamespaces {
    const key = keyOf(subject, tenant);
    const known = this.#views.get(key);
    const view = known ?? new VisibleNamespaces(this.#index, subject, tenant);
    if (known === undefined) this.#begin(key, view);
    if (!this.#held.has(view)) this.#use(view);
    return view;
  }

  /** Whether there is room for a watch of the view; `hold` may still find none. */
  hasRoomFor(view: VisibleNamespaces, bytesPerName: number): boolean {
    return this.#held.hasRoomFor(view, bytesPerName);
  }

  /**
   * For a watch: the view stays, and the memory of its names counts against the user's tenant.
   *
   * @param bytesPerName that the watch itself takes
   * @param onOverflow called if there is no room for further names: the watch is to end
   * @returns ends it; undefined if there is no room
   */
  hold(view: VisibleNamespaces, bytesPerName: number, onOverflow: () => void): (() => void) | undefined {
    const release = this.#held.hold(view, bytesPerName, onOverflow);
    if (release === undefined) return undefined;
    this.#idle.delete(view);
    return () => {
      release();
      if (!this.#held.has(view) && this.#views.get(keyOf(view.subject, view.tenant)) === view)
        this.#use(view);
    };
  }

  #use(view: VisibleNamespaces): void {
    for (const dropped of this.#idle.use(view, this.#clock.now())) this.#forget(dropped);
  }

  #begin(key: string, view: VisibleNamespaces): void {
    this.#views.set(key, view);
    for (const subject of view.keys) addTo(this.#byKey, subject, view);
    addTo(this.#byTenant, view.tenant, view);
    this.#unsubscribe ??= this.#index.subscribe({
      changed: (change) => this.#changed(change),
      reset: (tenant) => this.#reset(tenant),
    });
    this.#timer ??= this.#clock.after(TTL, () => this.#expire());
  }

  #forget(view: VisibleNamespaces): void {
    this.#views.delete(keyOf(view.subject, view.tenant));
    for (const subject of view.keys) deleteFrom(this.#byKey, subject, view);
    deleteFrom(this.#byTenant, view.tenant, view);
    if (this.#views.size > 0) return;
    // Nothing refers to the index of an earlier configuration then.
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #changed(change: Change): void {
    for (const view of this.#concernedBy(change)) {
      view.apply(change);
      if (view.isDue && this.#held.has(view)) this.#decisions.add(view.account, view);
    }
  }

  #reset(tenant: string): void {
    for (const view of [...(this.#byTenant.get(tenant) ?? [])]) {
      this.#idle.delete(view);
      this.#forget(view);
      this.#held.end(view);
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

  #expire(): void {
    this.#timer = this.#clock.after(TTL, () => this.#expire());
    for (const view of this.#idle.unusedSince(this.#clock.now() - TTL)) this.#forget(view);
  }
}

function keyOf(subject: SubjectByNamespace, tenant: string): string {
  return JSON.stringify([tenant, fingerprintOfSubject(subject)]);
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
