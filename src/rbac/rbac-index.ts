/**
 * The RBAC index: all namespaces, roles and bindings, updated by informers, and the revision through
 * which they are complete. It explains, enumerates and selects names; the API server authorizes. See
 * docs/access.md.
 */
import { INDEXED_RESOURCES, type IndexedResource, type StoredObject } from '../kubernetes/rbac-v1.ts';
import type { Scope } from './attributes.ts';
import { type Change, changeBetween } from './change.ts';
import { IndexBound, sizeOf } from './index-bound.ts';
import { TenantObjects } from './tenant-objects.ts';

export interface IndexListener {
  /** Called after each change. It must not throw. */
  changed?(change: Change): void;
  /**
   * Called when the index of the tenant is turned off or on again: earlier decisions are void. Must not
   * throw.
   */
  reset?(tenant: string): void;
  /** The API server's storage was restored from a backup: revisions are counted again from this one. */
  restored?(revision: number): void;
  /** The index is complete through a higher revision. Called after the changes up to it. */
  progressed?(revision: number): void;
}

export interface RBACIndexOptions {
  /** The name of the system tenant; Arktos' own name of it by default. */
  readonly systemTenant?: string;
  /** Bytes that all objects may take, as they are estimated; without it there is no bound. */
  readonly maxBytes?: number;
}

/** A list of one resource that is being read: pages are taken one by one, and none has to stay in memory. */
export interface ResourceList {
  take(objects: Iterable<StoredObject>): void;
  /** All pages have been taken: what was in none of them is gone. */
  end(): void;
}

export class RBACIndex {
  /** Arktos' tenant whose users may act in every tenant. */
  readonly systemTenant: string;
  readonly #tenants = new Map<string, TenantObjects>();
  readonly #revisions = new Map<IndexedResource, number>();
  readonly #counts = new Map<IndexedResource, number>();
  readonly #listeners = new Set<IndexListener>();
  readonly #bound: IndexBound;
  /** Resources whose storage was restored, and whose list since then has not ended. */
  readonly #restored = new Set<IndexedResource>();
  #revision = 0;

  constructor({ systemTenant = 'system', maxBytes = Number.POSITIVE_INFINITY }: RBACIndexOptions = {}) {
    this.systemTenant = systemTenant;
    this.#bound = new IndexBound(maxBytes);
  }

  /** Bytes that all objects take, as they are estimated. */
  get size(): number {
    return this.#bound.used;
  }

  /** How many tenants have no index, since their objects do not fit; 1 if the API server has no tenants. */
  get tenantsOff(): number {
    return this.#bound.tenantsOff;
  }

  /** Whether nothing is known of the tenant, since its objects do not fit. */
  isOff(tenant: string): boolean {
    return this.#bound.isOff(tenant);
  }

  /** Roles and bindings that are too large, whose rules or subjects are not known. */
  get tooLarge(): number {
    let count = 0;
    for (const objects of this.#tenants.values()) count += objects.tooLarge.size;
    return count;
  }

  /** Whether one of them may count in the scope. */
  hasTooLarge(tenant: string, scope: Scope): boolean {
    for (const { namespace } of this.objectsOf(tenant).tooLarge)
      if (scope === 'all' || namespace === '' || namespace === scope.namespace) return true;
    return false;
  }

  /** Whether every resource has been listed once. */
  get isSynced(): boolean {
    return this.#revisions.size === INDEXED_RESOURCES.length;
  }

  /** The lowest revision through which all resources are complete; 0 before the first sync. */
  get revision(): number {
    return this.#revision;
  }

  /** The highest revision of any resource: an object of it may have been shown. 0 before the first list. */
  get highestRevision(): number {
    return Math.max(0, ...this.#revisions.values());
  }

  /** @returns undefined if the resource has not been listed */
  revisionOf(resource: IndexedResource): number | undefined {
    return this.#revisions.get(resource);
  }

  /**
   * The objects of a tenant; none for an unknown tenant and while its index is off. Call it again for each
   * use: a tenant without objects is forgotten.
   */
  objectsOf(tenant: string): TenantObjects {
    return (this.isOff(tenant) ? undefined : this.#tenants.get(tenant)) ?? new TenantObjects();
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: IndexListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A complete list of one resource in one step. @param revision of the list */
  replace(resource: IndexedResource, objects: Iterable<StoredObject>, revision: number): void {
    const list = this.beginList(resource, revision);
    list.take(objects);
    list.end();
  }

  /**
   * Begins a complete list of one resource, as current as the API server's storage. Listeners get the
   * differences. Until its end the resource is complete through its earlier revision only, and must not be
   * changed otherwise; one that does not end is to be followed by another. A revision below the known one
   * means that the storage was restored from a backup.
   */
  beginList(resource: IndexedResource, revision: number): ResourceList {
    if (revision < (this.#revisions.get(resource) ?? 0)) this.#restartRevisions(resource, revision);
    // After a restore the same revision may be that of another change.
    const isRestored = this.#restored.has(resource);
    this.#bound.listBegins(resource);
    const gone = new Set(this.#all(resource));
    return {
      take: (objects) => {
        for (const object of objects) {
          const known = this.#find(object);
          if (known !== undefined) gone.delete(known);
          if (isRestored || known?.uid !== object.uid || known.revision !== object.revision)
            this.#put(known, object);
        }
      },
      end: () => {
        for (const object of gone) if (this.#find(object) === object) this.#delete(object, revision);
        this.#restored.delete(resource);
        for (const tenant of this.#bound.listEnds(resource)) this.#notifyReset(tenant);
        this.progress(resource, revision);
      },
    };
  }

  /** How many objects of the resource there are, of all tenants. */
  countOf(resource: IndexedResource): number {
    return this.#counts.get(resource) ?? 0;
  }

  /** A watch event ADDED or MODIFIED, in order: an earlier one could bring back a deleted object. */
  put(object: StoredObject): void {
    this.#put(this.#find(object), object);
    this.progress(object.resource, object.revision);
  }

  /**
   * A watch event DELETED.
   *
   * @param object its last state; its revision is that of the deletion
   */
  delete(object: StoredObject): void {
    const known = this.#find(object);
    if (known !== undefined) this.#delete(known, object.revision);
    this.progress(object.resource, object.revision);
  }

  /** The resource is complete through the revision: a bookmark, or what follows from an event. */
  progress(resource: IndexedResource, revision: number): void {
    if (revision <= (this.#revisions.get(resource) ?? 0)) return;
    this.#revisions.set(resource, revision);
    if (!this.isSynced) return;
    const lowest = Math.min(...this.#revisions.values());
    if (lowest <= this.#revision) return;
    this.#revision = lowest;
    for (const listener of this.#listeners) listener.progressed?.(lowest);
  }

  /** Revisions are counted again from here. */
  #restartRevisions(resource: IndexedResource, revision: number): void {
    this.#restored.add(resource);
    this.#revisions.set(resource, revision);
    this.#revision = Math.min(this.#revision, revision);
    for (const listener of this.#listeners) listener.restored?.(revision);
  }

  *#all(resource: IndexedResource): Generator<StoredObject> {
    for (const objects of this.#tenants.values()) yield* objects.all(resource);
  }

  #find(object: StoredObject): StoredObject | undefined {
    return this.#tenants.get(object.tenant)?.find(object);
  }

  #put(known: StoredObject | undefined, object: StoredObject): void {
    if (!this.#bound.takes(object)) return;
    const more = sizeOf(object) - (known === undefined ? 0 : sizeOf(known));
    for (;;) {
      const tooLarge = this.#bound.tooLargeFor(object.tenant, more);
      if (tooLarge === undefined) break;
      this.#turnOff(tooLarge);
      if (tooLarge === object.tenant) return;
    }
    this.#store(known, object);
  }

  /** An object for which there is room. */
  #store(known: StoredObject | undefined, object: StoredObject): void {
    const objects = this.#tenants.get(object.tenant) ?? new TenantObjects();
    // One of the same name was deleted in between: a binding of it is not the same binding.
    if (known !== undefined && known.uid !== object.uid) this.#delete(known, object.revision);
    const before = known?.uid === object.uid ? known : undefined;
    // The deletion may have removed the tenant's last object, and with it the tenant.
    this.#tenants.set(object.tenant, objects);
    this.#bound.add(object.tenant, sizeOf(object) - (before === undefined ? 0 : sizeOf(before)));
    objects.put(object);
    if (before === undefined) this.#count(object.resource, 1);
    this.#notify(before, object, object.revision, objects);
  }

  #delete(known: StoredObject, revision: number): void {
    const objects = this.#tenants.get(known.tenant);
    if (objects === undefined) return;
    objects.delete(known);
    this.#bound.add(known.tenant, -sizeOf(known));
    this.#count(known.resource, -1);
    if (objects.isEmpty) this.#tenants.delete(known.tenant);
    this.#notify(known, undefined, revision, objects);
  }

  /** Without objects the index knows of fewer rights, never of more. */
  #turnOff(tenant: string): void {
    const objects = this.#tenants.get(tenant);
    this.#tenants.delete(tenant);
    for (const resource of objects === undefined ? [] : INDEXED_RESOURCES)
      for (const _ of objects?.all(resource) ?? []) this.#count(resource, -1);
    const wasOff = this.isOff(tenant);
    this.#bound.turnOff(tenant);
    if (!wasOff) this.#notifyReset(tenant);
  }

  #count(resource: IndexedResource, change: 1 | -1): void {
    this.#counts.set(resource, this.countOf(resource) + change);
  }

  #notify(
    before: StoredObject | undefined,
    after: StoredObject | undefined,
    revision: number,
    objects: TenantObjects,
  ): void {
    // The first list has no listener, so the meaning of its changes does not matter.
    if (this.#listeners.size === 0) return;
    const change = changeBetween(before, after, revision, objects);
    if (change === undefined || this.isOff(change.tenant)) return;
    for (const listener of this.#listeners) listener.changed?.(change);
  }

  #notifyReset(tenant: string): void {
    for (const listener of this.#listeners) listener.reset?.(tenant);
  }
}
