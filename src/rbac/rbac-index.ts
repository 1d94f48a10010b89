/**
 * The RBAC index: all namespaces, roles and bindings, updated by `clients/`, and the revision through
 * which they are complete. It explains, enumerates and selects names; the API server authorizes. See
 * docs/access.md.
 */
import { INDEXED_RESOURCES, type IndexedResource, type StoredObject } from '../api/rbac-v1.ts';
import { type RBACUser, type Scope, type SubjectByNamespace, subjectIn } from './attributes.ts';
import { type Change, changeBetween } from './change.ts';
import { type BoundedOwner, BoundedOwners, type IndexBounds } from './index-bounds.ts';
import { inNamespace } from './sorted-bindings.ts';
import { keysOfUser } from './subject-key.ts';
import { TenantObjects } from './tenant-objects.ts';

export interface IndexListener {
  /** After each change. It must not throw. */
  changed?(change: Change): void;
  /** The API server's storage was restored from a backup: revisions are counted again from this one. */
  restored?(revision: number): void;
  /** The index is complete through a higher revision. Called after the changes up to it. */
  progressed?(revision: number): void;
}

export interface RBACIndexOptions {
  /** Without one, Arktos' own name of it. */
  readonly systemTenant?: string;
  /** Of each tenant, or, if the API server has none, of each namespace; without it there is none. */
  readonly bounds?: IndexBounds;
  /** The first time that an object is left out: the owner has more than its bound. */
  readonly onLeftOut?: (owner: BoundedOwner) => void;
}

const UNBOUNDED: IndexBounds = { objects: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** A few milliseconds of work. */
const OBJECTS_PER_STEP = 500;

export class RBACIndex {
  /** Arktos' tenant whose users may act in every tenant. */
  readonly systemTenant: string;
  readonly #tenants = new Map<string, TenantObjects>();
  readonly #revisions = new Map<IndexedResource, number>();
  readonly #counts = new Map<IndexedResource, number>();
  readonly #listeners = new Set<IndexListener>();
  readonly #owners: BoundedOwners;
  readonly #onLeftOut: RBACIndexOptions['onLeftOut'];
  #revision = 0;

  constructor({ systemTenant = 'system', bounds = UNBOUNDED, onLeftOut }: RBACIndexOptions = {}) {
    this.systemTenant = systemTenant;
    this.#owners = new BoundedOwners(bounds, systemTenant);
    this.#onLeftOut = onLeftOut;
  }

  /** Of how many tenants, or namespaces, objects are left out. */
  get partialOwners(): number {
    return this.#owners.partial.size;
  }

  /** Whether objects of the user's tenant are left out; without tenants at the API server, never. */
  isPartialFor({ cluster: { tenant } }: SubjectByNamespace): boolean {
    return this.#owners.isPartial({ tenant, namespace: '' });
  }

  /**
   * Whether the user may have rights in the namespace that the index does not know: objects of it are left
   * out, and a binding there names the user. If the API server has tenants, never.
   */
  isUndecided(user: RBACUser, namespace: string): boolean {
    const owner = { tenant: user.tenant, namespace };
    if (namespace === '' || !this.#owners.isPartial(owner)) return false;
    const keys = keysOfUser(user);
    if (this.#owners.leavesOut(owner, keys)) return true;
    const objects = this.objectsOf(user.tenant);
    for (const key of keys)
      if (inNamespace(objects.bindingsOfSubject(key), namespace).length > 0) return true;
    return false;
  }

  /** The namespaces in which that is so, sorted. */
  undecidedNamespaces(subject: SubjectByNamespace): readonly string[] {
    const { tenant } = subject.cluster;
    const names: string[] = [];
    for (const { tenant: ofOwner, namespace } of this.#owners.partial.values())
      if (ofOwner === tenant && this.isUndecided(subjectIn(subject, namespace), namespace))
        names.push(namespace);
    return names.sort();
  }

  /** Whether objects are left out that may count in the scope, for any user. */
  isPartialIn(tenant: string, scope: Scope): boolean {
    for (const owner of this.#owners.partial.values()) {
      if (owner.tenant !== tenant) continue;
      if (owner.namespace === '' || scope === 'all' || scope.namespace === owner.namespace) return true;
    }
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

  get tenants(): IterableIterator<string> {
    return this.#tenants.keys();
  }

  /**
   * Of an unknown tenant: no objects. To be read again for each use: a tenant without objects is forgotten.
   */
  objectsOf(tenant: string): TenantObjects {
    return this.#tenants.get(tenant) ?? new TenantObjects();
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: IndexListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * A complete list of one resource, as current as the API server's storage. Listeners are told the
   * differences. A revision below the known one means that the storage was restored from a backup.
   *
   * @param revision of the list
   */
  replace(resource: IndexedResource, objects: Iterable<StoredObject>, revision: number): void {
    const steps = this.replaceInSteps(resource, objects, revision);
    while (steps.next().done !== true);
  }

  /**
   * As `replace`, in steps between which the process can do other work. Until the last one the resource is
   * complete through its earlier revision only, and must not be changed otherwise.
   */
  *replaceInSteps(
    resource: IndexedResource,
    objects: Iterable<StoredObject>,
    revision: number,
  ): Generator<void, void> {
    const isFirst = !this.#revisions.has(resource);
    const isRestored = revision < (this.#revisions.get(resource) ?? 0);
    if (isRestored) this.#goBack(resource, revision);
    this.#owners.listBegins(resource);
    const gone = new Set<StoredObject>();
    const crowded: StoredObject[] = [];
    let handled = 0;
    for (const object of this.#all(resource)) {
      gone.add(object);
      handled += 1;
      if (handled % OBJECTS_PER_STEP === 0) yield;
    }
    for (const object of objects) {
      const known = this.#tenants.get(object.tenant)?.find(object);
      if (known !== undefined) gone.delete(known);
      // After a restore the same revision may be that of another change.
      const isChanged = isRestored || known?.uid !== object.uid || known.revision !== object.revision;
      // What is gone may leave room for it.
      if (isChanged && !this.#owners.hasRoomFor(known, object)) crowded.push(object);
      else if (isChanged) this.#store(known, object, isFirst);
      handled += 1;
      if (handled % OBJECTS_PER_STEP === 0) yield;
    }
    for (const object of gone) {
      this.#delete(object, revision);
      handled += 1;
      if (handled % OBJECTS_PER_STEP === 0) yield;
    }
    for (const object of crowded) {
      this.#put(this.#tenants.get(object.tenant)?.find(object), object, isFirst);
      handled += 1;
      if (handled % OBJECTS_PER_STEP === 0) yield;
    }
    this.#owners.listEnds(resource);
    this.progress(resource, revision);
  }

  /** How many objects of the resource there are, of all tenants. */
  countOf(resource: IndexedResource): number {
    return this.#counts.get(resource) ?? 0;
  }

  /** A watch event ADDED or MODIFIED. */
  put(object: StoredObject): void {
    if (!this.#isNew(object)) return;
    this.#put(this.#tenants.get(object.tenant)?.find(object), object, false);
    this.progress(object.resource, object.revision);
  }

  /**
   * A watch event DELETED.
   *
   * @param object its last state; its revision is that of the deletion
   */
  delete(object: StoredObject): void {
    if (!this.#isNew(object)) return;
    const known = this.#tenants.get(object.tenant)?.find(object);
    if (known !== undefined) this.#delete(known, object.revision);
    this.progress(object.resource, object.revision);
  }

  /** A repeated or reordered event is none: it could bring back a deleted object. */
  #isNew({ resource, revision }: StoredObject): boolean {
    return revision > (this.#revisions.get(resource) ?? 0);
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
  #goBack(resource: IndexedResource, revision: number): void {
    this.#revisions.set(resource, revision);
    this.#revision = Math.min(this.#revision, revision);
    for (const listener of this.#listeners) listener.restored?.(revision);
  }

  *#all(resource: IndexedResource): Generator<StoredObject> {
    for (const objects of this.#tenants.values()) yield* objects.all(resource);
  }

  #put(known: StoredObject | undefined, object: StoredObject, isFirst: boolean): void {
    if (!this.#owners.hasRoomFor(known, object)) {
      this.#leaveOut(known, object);
      return;
    }
    this.#store(known, object, isFirst);
  }

  /** An object for which there is room. */
  #store(known: StoredObject | undefined, object: StoredObject, isFirst: boolean): void {
    let objects = this.#tenants.get(object.tenant);
    if (objects === undefined) {
      objects = new TenantObjects();
      this.#tenants.set(object.tenant, objects);
    }
    // One of the same name was deleted in between: a binding of it is not the same binding.
    if (known !== undefined && known.uid !== object.uid) this.#delete(known, object.revision);
    const before = known?.uid === object.uid ? known : undefined;
    // A namespace that was deleted in between may have removed the last object of the tenant.
    this.#tenants.set(object.tenant, objects);
    if (before !== undefined) this.#owners.remove(before);
    this.#owners.add(object);
    objects.put(object);
    if (before === undefined) this.#count(object.resource, 1);
    // Nothing is told of a first list that has no listener.
    if (isFirst && this.#listeners.size === 0) return;
    this.#tell(changeBetween(before, object, object.revision, objects));
  }

  #delete(known: StoredObject, revision: number): void {
    const objects = this.#tenants.get(known.tenant);
    if (objects === undefined) return;
    objects.delete(known);
    this.#owners.remove(known);
    this.#count(known.resource, -1);
    if (objects.isEmpty) this.#tenants.delete(known.tenant);
    this.#tell(changeBetween(known, undefined, revision, objects));
  }

  /** Without an object the index knows of fewer rights, never of more. */
  #leaveOut(known: StoredObject | undefined, object: StoredObject): void {
    if (known !== undefined) this.#delete(known, object.revision);
    const owner = this.#owners.leaveOut(object);
    if (owner !== undefined) this.#onLeftOut?.(owner);
    // What its subjects may do is not known any more.
    if (this.#listeners.size > 0)
      this.#tell(changeBetween(undefined, object, object.revision, this.objectsOf(object.tenant)));
  }

  #count(resource: IndexedResource, change: 1 | -1): void {
    this.#counts.set(resource, this.countOf(resource) + change);
  }

  #tell(change: Change | undefined): void {
    if (change === undefined) return;
    for (const listener of this.#listeners) listener.changed?.(change);
  }
}
