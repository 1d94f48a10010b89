/**
 * An API server in memory behind the interface of controllers: uids, resource versions and preconditions as
 * in an API server, and a hook before each call.
 */
import {
  objectKey,
  type Place,
  placeName,
  type ResourceKind,
  type StoredObject,
} from '../../src/kubernetes/kubernetes-object.ts';
import type { Objects } from '../../src/kubernetes/objects.ts';
import { isJSONObject } from '../../src/lib/json-object.ts';

export interface Stored {
  readonly kind: ResourceKind;
  readonly place: Place;
  readonly object: StoredObject;
}

export interface MemoryObjects extends Objects {
  /** All objects. */
  all(): readonly Stored[];
  /** Creates or replaces an object, as another client would; a new object gets a new uid. */
  put(kind: ResourceKind, place: Place, object: object): void;
  /** Deletes an object and, for a namespace, everything in it. */
  drop(kind: ResourceKind, place: Place, name: string): void;
  find(kind: ResourceKind, place: Place, name: string): StoredObject | undefined;
  /** Called before each call; an error that it throws makes the call fail. */
  before: (verb: string, kind: ResourceKind, place: Place, name: string) => void;
  /** The writes so far: `create secrets acme/shared/registry`. */
  readonly writes: string[];
}

export function createMemoryObjects(): MemoryObjects {
  const objects = new Map<string, Stored>();
  const writes: string[] = [];
  let revision = 0;

  function store(kind: ResourceKind, place: Place, object: object, uid: string): StoredObject {
    revision += 1;
    const written: StoredObject = { apiVersion: 'v1', kind: 'Thing', metadata: { name: '' }, ...object };
    const metadata = {
      ...written.metadata,
      ...(place.tenant !== undefined && { tenant: place.tenant }),
      ...(place.namespace !== undefined && { namespace: place.namespace }),
      uid,
      resourceVersion: String(revision),
    };
    const copy: StoredObject = structuredClone({ ...written, metadata });
    objects.set(objectKey(kind, place, metadata.name), { kind, place, object: copy });
    return copy;
  }

  function note(verb: string, kind: ResourceKind, place: Place, name: string) {
    const path = [placeName(place), name].filter((part) => part !== '').join('/');
    writes.push(`${verb} ${kind.resource} ${path}`);
  }

  function drop(kind: ResourceKind, place: Place, name: string) {
    objects.delete(objectKey(kind, place, name));
    if (kind.resource !== 'namespaces') return;
    for (const [key, one] of objects)
      if (one.place.namespace === name && one.place.tenant === place.tenant) objects.delete(key);
  }

  const self: MemoryObjects = {
    writes,
    before: () => {},
    all: () => [...objects.values()],
    find: (kind, place, name) => objects.get(objectKey(kind, place, name))?.object,
    put(kind, place, object) {
      const name = 'metadata' in object ? Object(object.metadata).name : '';
      const uid = self.find(kind, place, name)?.metadata.uid;
      store(kind, place, object, uid ?? `uid-${revision + 1}`);
    },
    drop,
    async list(kind, place, selector, _signal, read) {
      self.before('list', kind, place, '');
      return [...objects.values()]
        .filter((one) => one.kind.resource === kind.resource && one.kind.group === kind.group)
        .filter((one) => place.tenant === 'all' || one.place.tenant === place.tenant)
        .filter((one) => place.namespace === undefined || one.place.namespace === place.namespace)
        .map(({ object }) => object)
        .filter((object) => isSelected(object, selector))
        .map(read);
    },
    async get(kind, place, name) {
      self.before('get', kind, place, name);
      return self.find(kind, place, name);
    },
    async getMetadata(kind, place, name) {
      self.before('getMetadata', kind, place, name);
      const found = self.find(kind, place, name)?.metadata;
      return found && { ...found };
    },
    async create(kind, place, object) {
      const { name } = object.metadata;
      self.before('create', kind, place, name);
      if (self.find(kind, place, name) !== undefined) return 'exists';
      note('create', kind, place, name);
      return store(kind, place, object, `uid-${revision + 1}`);
    },
    async update(kind, place, object, _signal, subresource) {
      const { name } = object.metadata;
      self.before(subresource === undefined ? 'update' : 'updateStatus', kind, place, name);
      const found = self.find(kind, place, name);
      if (found === undefined) return 'gone';
      if (found.metadata.resourceVersion !== object.metadata.resourceVersion) return 'conflict';
      const uid = found.metadata.uid ?? '';
      if (subresource !== undefined) {
        const status = 'status' in object ? object.status : undefined;
        return store(kind, place, { ...found, status }, uid);
      }
      note('update', kind, place, name);
      return store(kind, place, object, uid);
    },
    async delete(kind, place, { metadata }) {
      self.before('delete', kind, place, metadata.name);
      const found = self.find(kind, place, metadata.name)?.metadata;
      if (found === undefined) return 'gone';
      if (found.uid !== metadata.uid || found.resourceVersion !== metadata.resourceVersion) return 'conflict';
      note('delete', kind, place, metadata.name);
      drop(kind, place, metadata.name);
      return 'deleted';
    },
    async updateStatus(kind, place, { metadata }, status) {
      const { name, resourceVersion } = metadata;
      self.before('updateStatus', kind, place, name);
      const found = self.find(kind, place, name);
      if (found === undefined) return 'gone';
      if (found.metadata.resourceVersion !== resourceVersion) return 'conflict';
      return store(kind, place, { ...found, status: merged(found.status, status) }, found.metadata.uid ?? '');
    },
  };
  return self;
}

/** A JSON merge patch (RFC 7396). */
function merged(value: unknown, patch: unknown): unknown {
  if (!isJSONObject(patch)) return patch;
  const result = { ...(isJSONObject(value) ? value : {}) };
  for (const [key, part] of Object.entries(patch))
    if (part === null) delete result[key];
    else result[key] = merged(result[key], part);
  return result;
}

function isSelected({ metadata: { labels = {} } }: StoredObject, selector: string) {
  return (selector === '' ? [] : selector.split(',')).every((one) => {
    const [key = '', value] = one.split('=');
    return value === undefined ? labels[key] !== undefined : labels[key] === value;
  });
}
