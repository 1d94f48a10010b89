/**
 * What the stored objects of all tenants use, from informers: quantities only, summed for each namespace.
 * In shared mode the label of a namespace says whose its objects are, so that a namespace that changes its
 * tenant takes its usage along at once.
 */
import { LRUCache } from 'lru-cache';
import type { InformerList, InformerStore } from '../../kubernetes/informer-store.ts';
import { MalformedObject, type ReceivedObject, readRevision } from '../../kubernetes/list-watch.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import type { Clock } from '../../lib/clock.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { identityOf } from './quota-tenants.ts';
import { NOTHING, sum, type Usage } from './usage.ts';

/** An object as it is counted. */
export interface CountedObject {
  readonly key: string;
  /** As reservations have it. */
  readonly uid: string;
  /** The namespace, with the tenant on Arktos: `acme/web`, `web`. */
  readonly place: string;
  readonly revision: number;
  readonly usage: Usage;
  /** Only a namespace has it: whose its objects are; undefined: no tenant's. */
  readonly owner?: PlaceOwner | undefined;
}

/** The owner of the objects of a place. */
export interface PlaceOwner {
  readonly tenant: string;
  /** The id of a Keystone project; empty if it has none. */
  readonly project: string;
}

export interface UsageStoreOptions {
  readonly clock: Clock;
  /** Called for each tenant whose usage may have changed. */
  readonly onChange: (tenant: string) => void;
}

/** Milliseconds for which a deletion stays known: the object's reservation may be read only later. */
const DELETED = 60_000;
const MAX_DELETED = 100_000;
/** Different usages that are stored once: the pods of a Deployment have the same. */
const MAX_INTERNED = 10_000;

export class UsageStore {
  readonly #options: UsageStoreOptions;
  readonly #totals = new Map<string, Map<string, bigint>>();
  readonly #owners = new Map<string, PlaceOwner>();
  readonly #placesOf = new Map<string, Set<string>>();
  /** The revision up to which the objects of each resource are known. */
  readonly #revisions = new Map<string, number>();
  readonly #byUID = new Map<string, CountedObject>();
  readonly #deleted: ReturnType<typeof createExpiringCache<true>>;
  readonly #interned = new LRUCache<string, Usage>({ max: MAX_INTERNED });

  constructor(options: UsageStoreOptions) {
    this.#options = options;
    this.#deleted = createExpiringCache({ maxEntries: MAX_DELETED, clock: options.clock });
  }

  get tenants(): Iterable<string> {
    return this.#placesOf.keys();
  }

  /** @returns undefined for an object that is not counted for the tenant */
  usageOf(uid: string, tenant: string): Usage | undefined {
    const object = this.#byUID.get(uid);
    return object && this.#owners.get(object.place)?.tenant === tenant ? object.usage : undefined;
  }

  wasDeleted(uid: string): boolean {
    return this.#deleted.get(uid) === true;
  }

  /** What all objects of a tenant use. */
  usedBy(tenant: string): Usage {
    return sum([...(this.#placesOf.get(tenant) ?? [])].map((place) => this.#totals.get(place) ?? NOTHING));
  }

  /** What the objects of each namespace use, and whose they are. */
  *byOwner(): Generator<PlaceOwner & { readonly usage: Usage }> {
    for (const [place, owner] of this.#owners) yield { ...owner, usage: this.#totals.get(place) ?? NOTHING };
  }

  #setOwner(place: string, owner: PlaceOwner | undefined): void {
    const before = this.#owners.get(place);
    if (before !== undefined) {
      const places = this.#placesOf.get(before.tenant);
      places?.delete(place);
      if (places?.size === 0) this.#placesOf.delete(before.tenant);
      this.#options.onChange(before.tenant);
    }
    if (owner === undefined) {
      this.#owners.delete(place);
      return;
    }
    this.#owners.set(place, owner);
    const places = this.#placesOf.get(owner.tenant) ?? new Set();
    this.#placesOf.set(owner.tenant, places.add(place));
    this.#options.onChange(owner.tenant);
  }

  /** The revision of each resource, as a status has it. */
  get revisions(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#revisions].map(([resource, revision]) => [resource, String(revision)]),
    );
  }

  /** Whether everything that was counted at these revisions is known here. */
  includesRevisions(revisions: Readonly<Record<string, string>>): boolean {
    return [...this.#revisions].every(([resource, revision]) => revision >= Number(revisions[resource] ?? 0));
  }

  /** The store of the informer of one resource. */
  storeOf(resource: string): InformerStore<CountedObject> {
    this.#revisions.set(resource, 0);
    const setRevision = (revision: number) => void this.#revisions.set(resource, revision);
    const objects = new Map<string, CountedObject>();
    const remove = (key: string) => {
      const object = objects.get(key);
      if (object === undefined) return;
      objects.delete(key);
      this.#remove(object);
      this.#deleted.set(object.uid, true, this.#options.clock.now() + DELETED);
    };
    const put = (object: CountedObject) => {
      const before = objects.get(object.key);
      // An object of the same name with another UID is another object.
      if (before !== undefined && before.uid !== object.uid) remove(object.key);
      else if (before !== undefined) this.#remove(before);
      const counted = { ...object, usage: this.#intern(object.usage) };
      objects.set(object.key, counted);
      this.#add(counted);
    };
    return {
      revisionOf: ({ key }) => objects.get(key)?.revision,
      put(object) {
        put(object);
        setRevision(object.revision);
      },
      delete({ key, revision }) {
        remove(key);
        setRevision(revision);
      },
      progress: setRevision,
      beginList(revision): InformerList<CountedObject> {
        const listed = new Set<string>();
        return {
          take(page) {
            for (const object of page) {
              listed.add(object.key);
              put(object);
            }
          },
          end() {
            for (const key of [...objects.keys()]) if (!listed.has(key)) remove(key);
            setRevision(revision);
          },
        };
      },
    };
  }

  #add(object: CountedObject): void {
    if ('owner' in object) this.#setOwner(object.place, object.owner);
    this.#byUID.set(object.uid, object);
    this.#count(object, 1n);
  }

  #remove(object: CountedObject): void {
    this.#byUID.delete(object.uid);
    this.#count(object, -1n);
    if ('owner' in object) this.#setOwner(object.place, undefined);
  }

  #count({ place, usage }: CountedObject, factor: 1n | -1n): void {
    const total = this.#totals.get(place) ?? new Map<string, bigint>();
    this.#totals.set(place, total);
    for (const [resource, amount] of usage) {
      const now = (total.get(resource) ?? 0n) + factor * amount;
      if (now === 0n) total.delete(resource);
      else total.set(resource, now);
    }
    if (total.size === 0) this.#totals.delete(place);
    const owner = this.#owners.get(place);
    if (owner !== undefined) this.#options.onChange(owner.tenant);
  }

  #intern(usage: Usage): Usage {
    const key = [...usage].map(([resource, amount]) => `${resource}=${amount}`).join();
    const known = this.#interned.get(key);
    if (known === undefined) this.#interned.set(key, usage);
    return known ?? usage;
  }
}

/**
 * @param select what the object uses, and where it is
 * @returns a reader of objects for the store, which throws MalformedObject
 */
export function countedObjects(
  select: (value: unknown) => Pick<CountedObject, 'place' | 'usage' | 'owner'>,
): (object: ReceivedObject) => CountedObject {
  return ({ value }) => {
    const { name, namespace = '', tenant = '', resourceVersion } = metadataOf(value);
    const uid = identityOf(value);
    if (uid === undefined || typeof name !== 'string')
      throw new MalformedObject('an object has no name or UID');
    const key = JSON.stringify([tenant, namespace, name]);
    return { key, uid, revision: readRevision(resourceVersion), ...select(value) };
  };
}
