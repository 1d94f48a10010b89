/**
 * The store of the stand-in: objects by tenant, resource, namespace and name; a revision that counts every
 * change; and the changes themselves, so that a watch can start from any revision.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { ensureObject, type JsonObject } from './json.ts';

/** The place of an object. `tenant` is empty for objects of the whole cluster. */
export interface Location {
  readonly tenant: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Stored {
  readonly location: Location;
  readonly object: JsonObject;
}

export interface Change extends Stored {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** The object before the change; undefined for a new one. */
  readonly before: JsonObject | undefined;
}

/** Selects objects; an absent member matches any value. */
export type Selection = Partial<Location>;

export class ObjectStore {
  readonly #objects = new Map<string, Stored>();
  readonly #changes: Change[] = [];
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  #revision = 100;
  /** Watches from a revision below this one are refused as expired. */
  compacted = 0;

  get revision() {
    return this.#revision;
  }

  /** Discards the changes so far, as etcd's compaction does. */
  compact() {
    this.compacted = this.#revision;
    this.#changes.length = 0;
  }

  get(location: Location): JsonObject | undefined {
    return this.#objects.get(keyOf(location))?.object;
  }

  /** Sorted by tenant, namespace and name. */
  list(selection: Selection): Stored[] {
    return [...this.#objects.values()]
      .filter(({ location }) => matches(location, selection))
      .sort((a, b) => (keyOf(a.location) < keyOf(b.location) ? -1 : 1));
  }

  /**
   * Writes a new or changed object and sets its revision, uid and creation timestamp.
   *
   * @returns the stored object, which must not be changed
   */
  put(location: Location, object: JsonObject): JsonObject {
    const key = keyOf(location);
    const before = this.#objects.get(key)?.object;
    const copy = structuredClone(object);
    const metadata = ensureObject(copy, 'metadata');
    const born = before === undefined ? undefined : ensureObject(before, 'metadata');
    metadata.uid = born?.uid ?? metadata.uid ?? randomUUID();
    // A request over HTTP sends none.
    metadata.creationTimestamp = born?.creationTimestamp ?? metadata.creationTimestamp ?? now();
    this.#revision += 1;
    metadata.resourceVersion = String(this.#revision);
    const stored = { location, object: copy };
    this.#objects.set(key, stored);
    this.#announce({ ...stored, type: before ? 'MODIFIED' : 'ADDED', revision: this.#revision, before });
    return copy;
  }

  /** @returns the deleted object; undefined if there was none */
  delete(location: Location): JsonObject | undefined {
    const key = keyOf(location);
    const before = this.#objects.get(key)?.object;
    if (before === undefined) return undefined;
    this.#objects.delete(key);
    this.#revision += 1;
    const object = structuredClone(before);
    ensureObject(object, 'metadata').resourceVersion = String(this.#revision);
    this.#announce({ location, object, type: 'DELETED', revision: this.#revision, before });
    return before;
  }

  /** The changes after `revision`, oldest first. */
  changesSince(revision: number): Change[] {
    return this.#changes.filter((change) => change.revision > revision);
  }

  /** @returns a function that ends the subscription */
  onChange(listener: (change: Change) => void): () => void {
    this.#emitter.on('change', listener);
    return () => this.#emitter.off('change', listener);
  }

  #announce(change: Change) {
    this.#changes.push(change);
    this.#emitter.emit('change', change);
  }
}

/** A hash key as Arktos gives each object: a random positive number that JSON represents exactly. */
export function newHashKey() {
  return Number(randomBytes(6).readUIntBE(0, 6));
}

function now() {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}

function keyOf({ tenant, group, resource, namespace, name }: Location) {
  return [group, resource, tenant, namespace, name].join('/');
}

export function matches(location: Location, selection: Selection) {
  return (
    (selection.tenant === undefined || selection.tenant === location.tenant) &&
    (selection.group === undefined || selection.group === location.group) &&
    (selection.resource === undefined || selection.resource === location.resource) &&
    (selection.namespace === undefined || selection.namespace === location.namespace) &&
    (selection.name === undefined || selection.name === location.name)
  );
}
