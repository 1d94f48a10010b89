/**
 * The TenantQuotas as the API server has them, and since when each reservation in them is known here. Every
 * replica watches them, so that another leader need not wait for the whole time of a reservation again.
 */
import { ObjectStore, storableObjects } from '../../kubernetes/informer-store.ts';
import type { Informers } from '../../kubernetes/informers.ts';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { markOf, type Reservation } from './reservation.ts';
import { marksOf } from './stored-ledger.ts';
import { readTenantQuota, TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';

const EVERYTHING = { objects: 1_000_000, bytes: 512 * 1024 * 1024 };

export interface StoredQuotasOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class StoredQuotas {
  readonly #clock: Clock;
  readonly #store: ObjectStore<TenantQuota>;
  #informer: { readonly provenAt: number | undefined } | undefined;
  /** Marks of reservations by tenant, with the monotonic time at which each was first seen. */
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  constructor({ clock, logger }: StoredQuotasOptions) {
    this.#clock = clock;
    this.#store = new ObjectStore({
      bounds: EVERYTHING,
      onLeftOut: () => logger.error({}, 'quota: there are too many TenantQuotas'),
    });
  }

  /** @param onUpdate called after each list, event and bookmark */
  addTo(informers: Informers, place: Place, onUpdate: () => void): void {
    this.#informer = informers.add({
      path: collectionPath(TENANT_QUOTAS, place),
      read: storableObjects((value) => this.read(value)),
      store: this.#store,
      onUpdate,
    });
  }

  get areListed(): boolean {
    return this.#informer?.provenAt !== undefined;
  }

  values(): readonly TenantQuota[] {
    return this.#store.values();
  }

  /** Reads a TenantQuota that was received, and remembers its reservations. */
  read(object: unknown): TenantQuota | undefined {
    const quota = readTenantQuota(object);
    if (quota === undefined) return undefined;
    const { name } = quota.metadata;
    const marks = marksOf(quota);
    const known = this.#since.get(name);
    const now = this.#clock.monotonic();
    if (marks.length === 0) this.#since.delete(name);
    else this.#since.set(name, new Map(marks.map((mark) => [mark, known?.get(mark) ?? now])));
    return quota;
  }

  /** Milliseconds for which this process has known the reservation with its mark. */
  ageOf(tenant: string, { line }: Reservation): number {
    const since = this.#since.get(tenant)?.get(markOf(line));
    return since === undefined ? 0 : this.#clock.monotonic() - since;
  }
}
