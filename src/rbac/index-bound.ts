/**
 * The bytes that the objects of each tenant take in the index: one bound for all of them, and in Arktos a
 * quarter of it for each tenant. A tenant beyond it, or the largest if all are beyond the bound, has no index
 * until all resources have been listed again and everything fits. If the API server has no tenants, its
 * objects are those of one tenant.
 */
import { INDEXED_RESOURCES, type IndexedResource, type StoredObject } from '../kubernetes/rbac-v1.ts';

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
