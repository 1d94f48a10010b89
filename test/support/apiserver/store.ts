/**
 * What the stand-in remembers: objects by tenant, resource, namespace and name; a revision that counts every
 * change; and the changes themselves, so that a watch can start from any revision.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { ensureObject, type JsonObject } from './json.ts';

/** Where an object lives. `tenant` is empty for what belongs to the whole cluster. */
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
  /** The object as it was; undefined for a new one. */
  readonly before: JsonObject | undefined;
}

/** Which objects are meant; an absent member means any. */
export type Selection = Partial<Location>;

export class ObjectStore {
  readonly #objects = new Map<string, Stored>();
  readonly #changes: Change[] = [];
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  #revision = 100;
  /** Watches from a revision below this one are refused as expired. */
  compacted = 0;

  get revision(): number {
    return this.#revision;
  }

  /** Forgets the changes so far, as etcd's compaction does. */
  compact(): void {
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
   * Writes an object, new or changed, and gives it its revision, its uid and its birth date.
   *
   * @returns the object as it is stored now; not to be changed
   */
  put(location: Location, object: JsonObject): JsonObject {
    const key = keyOf(location);
    const before = this.#objects.get(key)?.object;
    const copy = structuredClone(object);
    const metadata = ensureObject(copy, 'metadata');
    const born = before === undefined ? undefined : ensureObject(before, 'metadata');
    metadata.uid = born?.uid ?? metadata.uid ?? randomUUID();
    // Over HTTP none is given.
    metadata.creationTimestamp = born?.creationTimestamp ?? metadata.creationTimestamp ?? now();
    this.#revision += 1;
    metadata.resourceVersion = String(this.#revision);
    const stored = { location, object: copy };
    this.#objects.set(key, stored);
    this.#announce({ ...stored, type: before ? 'MODIFIED' : 'ADDED', revision: this.#revision, before });
    return copy;
  }

  /** @returns the object as it was, or undefined where there was none */
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

  /** The changes behind `revision`, oldest first. */
  changesSince(revision: number): Change[] {
    return this.#changes.filter((change) => change.revision > revision);
  }

  /** @returns ends the subscription */
  onChange(listener: (change: Change) => void): () => void {
    this.#emitter.on('change', listener);
    return () => this.#emitter.off('change', listener);
  }

  #announce(change: Change): void {
    this.#changes.push(change);
    this.#emitter.emit('change', change);
  }
}

/** A hash key as Arktos gives each object: a random positive number that JSON carries exactly. */
export function newHashKey(): number {
  return Number(randomBytes(6).readUIntBE(0, 6));
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}

function keyOf({ tenant, group, resource, namespace, name }: Location): string {
  return [group, resource, tenant, namespace, name].join('/');
}

export function matches(location: Location, selection: Selection): boolean {
  return (
    (selection.tenant === undefined || selection.tenant === location.tenant) &&
    (selection.group === undefined || selection.group === location.group) &&
    (selection.resource === undefined || selection.resource === location.resource) &&
    (selection.namespace === undefined || selection.namespace === location.namespace) &&
    (selection.name === undefined || selection.name === location.name)
  );
}
