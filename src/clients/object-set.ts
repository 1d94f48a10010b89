/**
 * Objects of one resource, bounded for each tenant: one with too many or too large objects has none of them,
 * and takes no room from others.
 */

/** An object as it was read, and where it is. */
export interface ReadObject {
  /** Empty for objects of the whole cluster. */
  readonly tenant: string;
  /** Unique among the objects of the resource. */
  readonly key: string;
  /** About the size as JSON. */
  readonly bytes: number;
  readonly value: unknown;
}

/** Of one tenant. */
export interface ObjectSetBounds {
  readonly objects: number;
  readonly bytes: number;
}

interface TenantObjects<T> {
  readonly objects: Map<string, { readonly value: T; readonly bytes: number }>;
  bytes: number;
}

export class ObjectSet<T> {
  readonly #bounds: ObjectSetBounds;
  readonly #tenants = new Map<string, TenantObjects<T>>();
  /** They stay out until the next list. */
  readonly #leftOut = new Set<string>();
  #untold: string[] = [];

  constructor(bounds: ObjectSetBounds) {
    this.#bounds = bounds;
  }

  /** @param value undefined if the object is left out */
  put(object: ReadObject, value: T | undefined): void {
    const { tenant, key, bytes } = object;
    this.delete(object);
    if (value === undefined || this.#leftOut.has(tenant)) return;
    const own = this.#tenants.get(tenant) ?? { objects: new Map(), bytes: 0 };
    own.objects.set(key, { value, bytes });
    own.bytes += bytes;
    this.#tenants.set(tenant, own);
    if (own.objects.size <= this.#bounds.objects && own.bytes <= this.#bounds.bytes) return;
    this.#tenants.delete(tenant);
    this.#leftOut.add(tenant);
    this.#untold.push(tenant);
  }

  delete({ tenant, key }: Pick<ReadObject, 'tenant' | 'key'>): void {
    const own = this.#tenants.get(tenant);
    const found = own?.objects.get(key);
    if (own === undefined || found === undefined) return;
    own.objects.delete(key);
    own.bytes -= found.bytes;
    if (own.objects.size === 0) this.#tenants.delete(tenant);
  }

  values(): readonly T[] {
    return [...this.#tenants.values()].flatMap(({ objects }) =>
      [...objects.values()].map(({ value }) => value),
    );
  }

  /** Tenants that were left out since the last call. */
  takeLeftOut(): readonly string[] {
    const tenants = this.#untold;
    this.#untold = [];
    return tenants;
  }
}
