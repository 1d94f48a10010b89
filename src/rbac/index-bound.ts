/**
 * The bytes that the objects of each tenant take in the index: one bound for all of them, and in Arktos a
 * quarter of it for each tenant. A tenant beyond it, or the largest if all are beyond the bound, has no index
 * until all resources have been listed again and everything fits. If the API server has no tenants, its
 * objects are those of one tenant.
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import {
  INDEXED_RESOURCES,
  type IndexedResource,
  type StoredObject,
  type StoredSubject,
} from '../kubernetes/rbac-v1.ts';

/** The part of the bound that one tenant may take, if the API server has tenants. */
const TENANT_SHARE = 1 / 4;

export class IndexBound {
  readonly #bytes: number;
  readonly #used = new Map<string, number>();
  /** Tenant without an index → the resources whose lists have begun since; whether they have ended. */
  readonly #off = new Map<string, Map<IndexedResource, boolean>>();
  #total = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Bytes of all objects, as `sizeOf` estimates them. */
  get used(): number {
    return this.#total;
  }

  get tenantsOff(): number {
    return this.#off.size;
  }

  isOff(tenant: string): boolean {
    return this.#off.has(tenant);
  }

  /** Whether the object is to be stored: without an index, only what has been listed again. */
  takes({ tenant, resource }: Pick<StoredObject, 'tenant' | 'resource'>): boolean {
    return this.#off.get(tenant)?.has(resource) ?? true;
  }

  /** @returns the tenant without which there may be room: undefined if there is */
  tooLargeFor(tenant: string, bytes: number): string | undefined {
    const ofTenant = tenant === '' ? this.#bytes : this.#bytes * TENANT_SHARE;
    const used = (this.#used.get(tenant) ?? 0) + bytes;
    if (used > ofTenant) return tenant;
    return this.#total + bytes <= this.#bytes ? undefined : this.#largerThan(tenant, used);
  }

  /** Names the tenant, or a larger one that leaves it no room. */
  #largerThan(tenant: string, used: number): string {
    let largest = tenant;
    let most = used;
    for (const [other, bytes] of this.#used)
      if (bytes > most) {
        largest = other;
        most = bytes;
      }
    return largest;
  }

  /** @param bytes negative for what is gone */
  add(tenant: string, bytes: number): void {
    const used = (this.#used.get(tenant) ?? 0) + bytes;
    if (used === 0) this.#used.delete(tenant);
    else this.#used.set(tenant, used);
    this.#total += bytes;
  }

  /** The tenant has no objects in the index any more. */
  turnOff(tenant: string): void {
    this.add(tenant, -(this.#used.get(tenant) ?? 0));
    this.#off.set(tenant, new Map());
  }

  listBegins(resource: IndexedResource): void {
    for (const lists of this.#off.values()) lists.set(resource, false);
  }

  /** @returns the tenants that have an index again */
  listEnds(resource: IndexedResource): readonly string[] {
    const on: string[] = [];
    for (const [tenant, lists] of this.#off) {
      if (lists.has(resource)) lists.set(resource, true);
      if (INDEXED_RESOURCES.every((each) => lists.get(each) === true)) on.push(tenant);
    }
    for (const tenant of on) this.#off.delete(tenant);
    return on;
  }
}

const OBJECT_BYTES = 420;
/** A namespace, with the maps of its roles and bindings. */
const NAMESPACE_BYTES = 1_000;
const SUBJECT_BYTES = 212;
/** Bytes of a service account in addition to its name: its kind, namespace, and the user name as a key. */
const SERVICE_ACCOUNT_BYTES = 200;
const RULE_BYTES = 250;
const LABEL_BYTES = 8;
/** Bytes of a text in addition to its characters. */
const TEXT_BYTES = 32;

/**
 * How many bytes of memory an object takes in the index, with its entries in all maps. The estimate is not
 * below what V8 takes: nothing is subtracted for names and rules that objects share. The API server bounds no
 * name of a role, or that a binding refers to.
 */
export function sizeOf(object: StoredObject): number {
  if (object.resource === 'namespaces')
    return NAMESPACE_BYTES + textBytes([object.name, object.json]) + labelBytes(object.labels);
  const bytes = OBJECT_BYTES + textBytes([object.name]);
  if ('subjects' in object)
    return object.subjects.reduce(
      (sum, subject) => sum + sizeOfSubject(subject),
      bytes + textBytes([object.roleRef.name]),
    );
  const selectors = object.aggregates === undefined ? 0 : 8 * JSON.stringify(object.aggregates).length;
  return object.rules.reduce(
    (sum, rule) => sum + sizeOfRule(rule),
    bytes + selectors + labelBytes(object.labels),
  );
}

/** The key under which a user is found is another copy of the name. */
function sizeOfSubject({ kind, name, namespace }: StoredSubject): number {
  const more = kind === 'User' || kind === 'Group' ? 0 : SERVICE_ACCOUNT_BYTES;
  return SUBJECT_BYTES + more + 2 * (characterBytes(name) + characterBytes(namespace));
}

function sizeOfRule({ verbs, ...others }: PolicyRule): number {
  const lists = [verbs, others.apiGroups, others.resources, others.resourceNames, others.nonResourceURLs];
  return lists.reduce((sum, texts = []) => sum + textBytes(texts), RULE_BYTES);
}

function labelBytes(labels: Readonly<Record<string, string>>): number {
  const texts = Object.entries(labels).flat();
  return textBytes(texts) + LABEL_BYTES * texts.length;
}

function textBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + TEXT_BYTES + characterBytes(text), 0);
}

/** V8 takes two bytes for each character of a text that has one outside of Latin-1. */
function characterBytes(text: string): number {
  return text.length * (/[^\0-\u00ff]/.test(text) ? 2 : 1);
}
