/**
 * The stores that informers fill. An ObjectStore is bounded for each tenant: one with too many or too large
 * objects has none of them until the next list, and takes no room from others.
 */
import { MalformedObject, type ReceivedObject, readRevision } from './list-watch.ts';
import { metadataOf } from './object-format.ts';

/** Where an informer puts what it reads. */
export interface InformerStore<T> {
  /** Whether objects were left out that may fit by now: then another list follows in ten minutes. */
  readonly isIncomplete?: boolean;
  /** The revision of the stored object with the same name as this one; undefined if there is none. */
  revisionOf(object: T): number | undefined;
  /**
   * Begins a complete list, taken page by page, as of a revision. A list that does not end is followed by
   * another. A lower revision than before means that the API server's storage was restored from a backup.
   */
  beginList(revision: number): InformerList<T>;
  /** Events ADDED and MODIFIED. */
  put(object: T): void;
  /** @param object its last state, with the revision of the deletion */
  delete(object: T): void;
  /** A bookmark: nothing has changed up to this revision. */
  progress?(revision: number): void;
}

export interface InformerList<T> {
  take(objects: Iterable<T>): void;
  /** All pages have been taken: objects that were on none of them are gone. */
  end(): void;
}

/** An object of an ObjectStore as it was read, and where it is. */
export interface StorableObject<T> {
  /** Empty for objects of the whole cluster. */
  readonly tenant: string;
  /** Unique among the objects of the resource. */
  readonly key: string;
  readonly revision: number;
  /** About the size as JSON. */
  readonly bytes: number;
  /** Undefined if the object is of no interest: then it is not stored. */
  readonly value: T | undefined;
}

/** The bounds of one tenant. */
export interface ObjectStoreBounds {
  readonly objects: number;
  readonly bytes: number;
}

interface StoredValue<T> {
  readonly value: T;
  readonly revision: number;
  readonly bytes: number;
}

interface TenantObjects<T> {
  readonly objects: Map<string, StoredValue<T>>;
  bytes: number;
}

interface ObjectStoreOptions {
  readonly bounds: ObjectStoreBounds;
  /** Called for a tenant whose objects do not fit. */
  readonly onLeftOut: (tenant: string) => void;
}

export class ObjectStore<T> implements InformerStore<StorableObject<T>> {
  readonly #options: ObjectStoreOptions;
  #tenants = new Map<string, TenantObjects<T>>();
  /** The tenant of each stored object, by key: an object may change its tenant, or lose it. */
  #tenantOf = new Map<string, string>();
  #leftOut = new Set<string>();

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
  }

  get isIncomplete(): boolean {
    return this.#leftOut.size > 0;
  }

  values(): readonly T[] {
    return [...this.#tenants.values()].flatMap(({ objects }) =>
      [...objects.values()].map(({ value }) => value),
    );
  }

  valuesOf(tenant: string): readonly T[] {
    const own = this.#tenants.get(tenant);
    return own === undefined ? [] : [...own.objects.values()].map(({ value }) => value);
  }

  revisionOf({ key }: StorableObject<T>): number | undefined {
    return this.#tenants.get(this.#tenantOf.get(key) ?? '')?.objects.get(key)?.revision;
  }

  /** The objects stay as they were until the list ends. */
  beginList(): InformerList<StorableObject<T>> {
    const next = new ObjectStore<T>(this.#options);
    return {
      take(objects) {
        for (const object of objects) next.put(object);
      },
      end: () => {
        this.#tenants = next.#tenants;
        this.#tenantOf = next.#tenantOf;
        this.#leftOut = next.#leftOut;
      },
    };
  }

  put(object: StorableObject<T>): void {
    const { tenant, key, value, revision, bytes } = object;
    this.delete(object);
    if (value === undefined || this.#leftOut.has(tenant)) return;
    const own = this.#tenants.get(tenant) ?? { objects: new Map(), bytes: 0 };
    own.objects.set(key, { value, revision, bytes });
    own.bytes += bytes;
    this.#tenants.set(tenant, own);
    this.#tenantOf.set(key, tenant);
    const { bounds, onLeftOut } = this.#options;
    if (own.objects.size <= bounds.objects && own.bytes <= bounds.bytes) return;
    for (const each of own.objects.keys()) this.#tenantOf.delete(each);
    this.#tenants.delete(tenant);
    this.#leftOut.add(tenant);
    onLeftOut(tenant);
  }

  delete({ key }: StorableObject<T>): void {
    const tenant = this.#tenantOf.get(key) ?? '';
    const own = this.#tenants.get(tenant);
    const found = own?.objects.get(key);
    if (own === undefined || found === undefined) return;
    own.objects.delete(key);
    own.bytes -= found.bytes;
    this.#tenantOf.delete(key);
    if (own.objects.size === 0) this.#tenants.delete(tenant);
  }
}

/**
 * @param select returns undefined for an object that is of no interest, or is none
 * @returns a reader of objects for the store, which throws MalformedObject
 */
export function storableObjects<T>(
  select: (value: unknown) => T | undefined,
): (object: ReceivedObject) => StorableObject<T> {
  return ({ value, text }) => {
    const { name, tenant = '', namespace = '', resourceVersion } = metadataOf(value);
    if (typeof name !== 'string' || name === '') throw new MalformedObject('an object has no name');
    if (typeof tenant !== 'string' || typeof namespace !== 'string')
      throw new MalformedObject('an object is in no place');
    return {
      tenant,
      key: JSON.stringify([tenant, namespace, name]),
      revision: readRevision(resourceVersion),
      bytes: text().length,
      value: select(value),
    };
  };
}
