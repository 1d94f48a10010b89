/**
 * What the stored objects of all tenants use, from informers: quantities only, of the resources that some
 * quota limits, summed for each namespace. In shared mode the label of a namespace says whose its objects
 * are, so that a namespace that changes its tenant takes its usage along at once.
 */
import { LRUCache } from 'lru-cache';
import type { InformerList, InformerStore } from '../../kubernetes/informer-store.ts';
import { MalformedObject, type ReceivedObject, readRevision } from '../../kubernetes/list-watch.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import { kindOfResource } from '../../kubernetes/resource-quota/object-usage.ts';
import { NOTHING, sum, type Usage } from '../../kubernetes/resource-quota/usage.ts';
import type { Clock } from '../../lib/clock.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { objectIDOf } from './reservation.ts';

/** An object as it is counted. */
export interface CountedObject {
  readonly key: string;
  /** As reservations have it. */
  readonly id: string;
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
  /** Called for each tenant whose usage may have changed; undefined: more is counted of every tenant. */
  readonly onChange: (tenant: string | undefined) => void;
}

/** Milliseconds for which a deletion stays known: the object's reservation may be read only later. */
const DELETED = 60_000;
const MAX_DELETED = 10_000;
/** Different usages that are stored once: the pods of a Deployment have the same. */
const MAX_INTERNED = 2_000;

/** The objects of one kind. */
interface KindState {
  /** The revision up to which they are known; 0 before they were listed. */
  revision: number;
  /** The resources that the last complete list was counted by. */
  names: ReadonlySet<string>;
}

export class UsageStore {
  readonly #options: UsageStoreOptions;
  readonly #totals = new Map<string, Map<string, bigint>>();
  /** Undefined for a namespace of no tenant. */
  readonly #owners = new Map<string, PlaceOwner | undefined>();
  readonly #placesOf = new Map<string, Set<string>>();
  readonly #kinds = new Map<string, KindState>();
  /** Grows only: what no quota names any more is counted until the process ends. */
  readonly #names = new Set<string>();
  readonly #byID = new Map<string, CountedObject>();
  readonly #deleted: ReturnType<typeof createExpiringCache<true>>;
  readonly #interned = new LRUCache<string, Usage>({ max: MAX_INTERNED });

  constructor(options: UsageStoreOptions) {
    this.#options = options;
    this.#deleted = createExpiringCache({ maxEntries: MAX_DELETED, clock: options.clock });
  }

  get tenants(): Iterable<string> {
    return this.#placesOf.keys();
  }

  /** Counts these resources from the next list on. @returns the kinds that must be listed anew for it */
  addNames(names: Iterable<string>): ReadonlySet<string> {
    const added = [...names].filter((name) => !this.#names.has(name));
    for (const name of added) this.#names.add(name);
    return new Set(added.map(kindOfResource).filter((kind) => this.#kinds.has(kind)));
  }

  /** @returns the object if it is counted: whose its namespace is must be known */
  find(id: string): (CountedObject & { readonly tenant: string | undefined }) | undefined {
    const object = this.#byID.get(id);
    if (object === undefined || !this.#owners.has(object.place)) return undefined;
    return { ...object, tenant: this.#owners.get(object.place)?.tenant };
  }

  wasDeleted(id: string): boolean {
    return this.#deleted.get(id) === true;
  }

  /** What all objects of a tenant use, and zeros. @param resources those that are counted */
  usedBy(tenant: string, resources: Iterable<string>): Usage {
    const total = sum(
      [...(this.#placesOf.get(tenant) ?? [])].map((place) => this.#totals.get(place) ?? NOTHING),
    );
    return new Map([...resources].map((resource) => [resource, total.get(resource) ?? 0n]));
  }

  /** What the objects of each namespace use, and whose they are. */
  *byOwner(): Generator<PlaceOwner & { readonly usage: Usage }> {
    for (const [place, owner] of this.#owners)
      if (owner !== undefined) yield { ...owner, usage: this.#totals.get(place) ?? NOTHING };
  }

  #setOwner(place: string, owner: PlaceOwner | undefined): void {
    const before = this.#owners.get(place);
    if (before !== undefined) {
      const places = this.#placesOf.get(before.tenant);
      places?.delete(place);
      if (places?.size === 0) this.#placesOf.delete(before.tenant);
      this.#options.onChange(before.tenant);
    }
    this.#owners.set(place, owner);
    if (owner === undefined) return;
    const places = this.#placesOf.get(owner.tenant) ?? new Set();
    this.#placesOf.set(owner.tenant, places.add(place));
    this.#options.onChange(owner.tenant);
  }

  /** The kinds that are counted, as kubectl names them. */
  get kinds(): ReadonlySet<string> {
    return new Set(this.#kinds.keys());
  }

  /** The revision up to which the objects of a kind are known; 0 before they were listed. */
  revisionOf(kind: string): number {
    return this.#kinds.get(kind)?.revision ?? 0;
  }

  isCounted(resource: string): boolean {
    return this.#kinds.get(kindOfResource(resource))?.names.has(resource) === true;
  }

  /** The store of the informer of one kind. */
  storeOf(kind: string): InformerStore<CountedObject> {
    const state: KindState = { revision: 0, names: new Set() };
    this.#kinds.set(kind, state);
    const objects = new Map<string, CountedObject>();
    const remove = (key: string) => {
      const object = objects.get(key);
      if (object === undefined) return;
      objects.delete(key);
      this.#remove(object);
      this.#deleted.set(object.id, true, this.#options.clock.now() + DELETED);
    };
    const put = (object: CountedObject) => {
      const before = objects.get(object.key);
      // An object of the same name with another UID is another object.
      if (before !== undefined && before.id !== object.id) remove(object.key);
      else if (before !== undefined) this.#remove(before);
      const counted = { ...object, usage: this.#intern(object.usage) };
      objects.set(object.key, counted);
      this.#add(counted);
    };
    return {
      revisionOf: ({ key }) => objects.get(key)?.revision,
      put(object) {
        put(object);
        state.revision = object.revision;
      },
      delete({ key, revision }) {
        remove(key);
        state.revision = revision;
      },
      progress(revision) {
        state.revision = revision;
      },
      beginList: (revision): InformerList<CountedObject> => {
        const names = new Set(this.#names);
        const listed = new Set<string>();
        return {
          take(page) {
            for (const object of page) {
              listed.add(object.key);
              put(object);
            }
          },
          end: () => {
            for (const key of [...objects.keys()]) if (!listed.has(key)) remove(key);
            state.revision = revision;
            if (names.size === state.names.size) return;
            state.names = names;
            this.#options.onChange(undefined);
          },
        };
      },
    };
  }

  #add(object: CountedObject): void {
    if ('owner' in object) this.#setOwner(object.place, object.owner);
    this.#byID.set(object.id, object);
    this.#count(object, 1n);
  }

  #remove(object: CountedObject): void {
    this.#byID.delete(object.id);
    this.#count(object, -1n);
    if (!('owner' in object)) return;
    this.#setOwner(object.place, undefined);
    this.#owners.delete(object.place);
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
    const limited = [...usage].filter(([resource]) => this.#names.has(resource));
    const key = limited.map(([resource, amount]) => `${resource}=${amount}`).join();
    const known = this.#interned.get(key) ?? new Map(limited);
    this.#interned.set(key, known);
    return known;
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
    const id = objectIDOf(value);
    if (id === undefined || typeof name !== 'string')
      throw new MalformedObject('an object has no name or UID');
    const key = JSON.stringify([tenant, namespace, name]);
    return { key, id, revision: readRevision(resourceVersion), ...select(value) };
  };
}
