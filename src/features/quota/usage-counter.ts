/**
 * Counts what tenants use and writes it to their TenantQuotas: informers of the counted kinds, on the replica
 * with the lease. Of two replicas that both think that they have it, none writes what it has seen less of
 * than the last writer: the status has the revision of each kind.
 */
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { type InformerRuntime, Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { Failure } from '../../kubernetes/reconcile/apply.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { addCountedInformers, type CountedKinds, TenantQuotaStore } from './counted-informers.ts';
import { type Counted, type Reservation, settle } from './ledger.ts';
import { isQuotaName } from './object-usage.ts';
import { ledgerOf, reservationStatus, textsAs } from './stored-ledger.ts';
import { readTenantQuota, TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';
import type { Usage } from './usage.ts';
import { type PlaceOwner, UsageStore } from './usage-store.ts';

export interface UsageCounterOptions extends InformerRuntime, CountedKinds {
  readonly upstream: InformerUpstream;
  readonly objects: Objects;
  /** Called after each change that may change a status. */
  readonly onChange: () => void;
  /** Called if a status was changed by another client. */
  readonly onRepair: (tenant: string) => void;
}

/** Milliseconds in which an API server ends a request, and with it the creation of what was admitted. */
const REQUEST_TIMEOUT = 60_000;
/** Statuses that are written at the same time. */
const CONCURRENCY = 8;
const EVERYTHING = { objects: 1_000_000, bytes: 512 * 1024 * 1024 };

export class UsageCounter {
  readonly #options: UsageCounterOptions;
  readonly #informers: Informers;
  readonly #usage: UsageStore;
  readonly #quotas: TenantQuotaStore;
  /** Tenants whose status may have to be written. */
  readonly #dirty = new Set<string>();
  /** When this process first saw a reservation, by UID and usage, in milliseconds since the epoch. */
  #reservedAt = new Map<string, number>();
  /** `used` as it was written here. */
  readonly #written = new Map<string, string>();

  constructor(options: UsageCounterOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#informers = new Informers({ ...options, name: 'quota' });
    this.#usage = new UsageStore({
      clock,
      onChange: (tenant) => this.#changed(tenant),
    });
    this.#quotas = new TenantQuotaStore({
      bounds: EVERYTHING,
      onLeftOut: () => logger.error({}, 'quota: there are too many TenantQuotas'),
      onChange: (tenant) => this.#changed(tenant),
    });
    addCountedInformers(this.#informers, options, {
      usage: this.#usage,
      quotas: this.#quotas,
      onUpdate: options.onChange,
    });
  }

  start(): void {
    this.#informers.start();
  }

  stop(): Promise<void> {
    return this.#informers.stop();
  }

  /** Whether everything has been listed. */
  get isComplete(): boolean {
    return this.#informers.all.every(({ provenAt }) => provenAt !== undefined);
  }

  /** Tenants that have a namespace and no TenantQuota. */
  tenantsWithout(): string[] {
    const known = new Set(this.#quotas.values().map(({ metadata }) => metadata.name));
    return [...this.#usage.tenants].filter((tenant) => !known.has(tenant));
  }

  quotas(): readonly TenantQuota[] {
    return this.#quotas.values();
  }

  /** What the objects of each tenant and project use. */
  byOwner(): Iterable<PlaceOwner & { readonly usage: Usage }> {
    return this.#usage.byOwner();
  }

  /** Writes what has changed. @returns what could not be written */
  async write(signal: AbortSignal): Promise<readonly Failure[]> {
    if (!this.isComplete) return [];
    const quotas = new Map(this.#quotas.values().map((quota) => [quota.metadata.name, quota]));
    const pending = [...this.#dirty].flatMap((tenant) => quotas.get(tenant) ?? []);
    this.#dirty.clear();
    const failures = await mapWithConcurrency(pending, CONCURRENCY, (quota) => this.#writeOne(quota, signal));
    this.#forgetEnded(quotas);
    return failures.flat();
  }

  async #writeOne(quota: TenantQuota, signal: AbortSignal): Promise<Failure[]> {
    const { objects, place } = this.#options;
    const tenant = quota.metadata.name;
    const status = this.#statusOf(quota);
    // Reservations end with time, and a conflict or another writer's lead with the next event.
    if (ledgerOf(quota).reservations.length > 0) this.#dirty.add(tenant);
    if (status === undefined || signal.aborted) return [];
    try {
      const outcome = await objects.updateStatus(TENANT_QUOTAS, place, quota, status, signal);
      if (outcome === 'conflict') this.#dirty.add(tenant);
      else if (outcome !== 'gone') this.#written.set(tenant, usedText(readTenantQuota(outcome)));
      return [];
    } catch (error) {
      this.#dirty.add(tenant);
      if (!(error instanceof StatusError)) throw error;
      const change = {
        action: 'update',
        kind: TENANT_QUOTAS,
        place,
        object: quota,
        reason: 'its usage',
      } as const;
      return [{ change, reason: reasonOf(error) }];
    }
  }

  /** @returns undefined if nothing has changed, or another replica has seen more */
  #statusOf(quota: TenantQuota): object | undefined {
    const { spec, status, metadata } = quota;
    const tenant = metadata.name;
    const ledger = ledgerOf(quota);
    const next = settle(ledger, this.#countedOf(tenant));
    const used = textsAs(spec.hard, next.used ?? new Map());
    const reservations = reservationStatus(next);
    const isSame = usedText(quota) === JSON.stringify(sorted(used));
    if (isSame && JSON.stringify(status.reservations ?? []) === JSON.stringify(reservations))
      return undefined;
    if (!this.#usage.hasSeen(status.revisions ?? {})) {
      this.#dirty.add(tenant);
      return undefined;
    }
    const written = this.#written.get(tenant);
    if (written !== undefined && written !== usedText(quota)) this.#options.onRepair(tenant);
    const removed = Object.keys(status.used ?? {}).filter((resource) => !(resource in spec.hard));
    const unknown = Object.keys(spec.hard).filter((resource) => !isQuotaName(resource));
    return {
      // A merge patch removes a key by null.
      used: { ...used, ...Object.fromEntries(removed.map((resource) => [resource, null])) },
      reservations,
      summary: summaryOf(spec.hard, used),
      problem:
        unknown.length > 0 ? `no names of a quota, so they limit nothing: ${unknown.join(', ')}` : null,
      revisions: this.#usage.revisions,
    };
  }

  #countedOf(tenant: string): Counted {
    return {
      used: this.#usage.usedBy(tenant),
      usageOf: (uid) => this.#usage.usageOf(uid, tenant),
      isOver: (reservation) => this.#usage.wasDeleted(reservation.uid) || this.#isExpired(reservation),
    };
  }

  /** Whether what was admitted would have been seen by now if it had been stored. */
  #isExpired(reservation: Reservation): boolean {
    const key = reservationKey(reservation);
    const since = this.#reservedAt.get(key) ?? this.#options.clock.now();
    this.#reservedAt.set(key, since);
    return this.#informers.all.every(({ provenAt = 0 }) => provenAt >= since + REQUEST_TIMEOUT);
  }

  #forgetEnded(quotas: ReadonlyMap<string, TenantQuota>): void {
    if (this.#reservedAt.size === 0) return;
    const open = new Set(
      [...quotas.values()].flatMap((quota) => ledgerOf(quota).reservations.map(reservationKey)),
    );
    this.#reservedAt = new Map([...this.#reservedAt].filter(([key]) => open.has(key)));
  }

  #changed(tenant: string): void {
    this.#dirty.add(tenant);
    this.#options.onChange();
  }
}

function reservationKey({ uid, usage }: Reservation): string {
  return `${uid} ${[...usage].join()}`;
}

function usedText(quota: TenantQuota | undefined): string {
  return JSON.stringify(sorted(quota?.status.used ?? {}));
}

function sorted(record: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1));
}

function summaryOf(hard: Readonly<Record<string, string>>, used: Readonly<Record<string, string>>): string {
  return sorted(hard)
    .map(([resource, most]) => `${resource}: ${used[resource] ?? '0'}/${most}`)
    .join(', ');
}
