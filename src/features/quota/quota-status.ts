/**
 * The status of TenantQuotas as it follows from what was counted: what is used, and which reservations are
 * still open. If two replicas both think that they have the lease, the one that has seen less writes nothing:
 * the status names the revision of each kind up to which objects were counted.
 */
import type { Clock } from '../../lib/clock.ts';
import { isEqual } from '../../lib/json-equal.ts';
import { type Counted, type Reservation, settle } from './ledger.ts';
import { isLimiting } from './object-usage.ts';
import { quotaSummary } from './own-quota-v1alpha1.ts';
import { ledgerOf, reservationStatus, textsAs } from './stored-ledger.ts';
import type { TenantQuota, TenantQuotaStatus } from './tenant-quota-v1alpha1.ts';
import { NOTHING } from './usage.ts';
import type { UsageStore } from './usage-store.ts';

export interface QuotaStatusOptions {
  readonly usage: UsageStore;
  readonly clock: Clock;
  /** Called if a status was changed by another client. */
  readonly onRepair: (tenant: string) => void;
}

/** Milliseconds in which an API server ends a request, and with it the creation of what was admitted. */
const REQUEST_TIMEOUT = 60_000;

export class QuotaStatuses {
  readonly #options: QuotaStatusOptions;
  /** When this process first saw a reservation, by UID and usage, in milliseconds since the epoch. */
  #reservedAt = new Map<string, number>();
  /** What this process last wrote to `used`, by tenant: any other value is another client's. */
  readonly #written = new Map<string, TenantQuotaStatus['used']>();

  constructor(options: QuotaStatusOptions) {
    this.#options = options;
  }

  /** @param quota as it was written */
  written(quota: TenantQuota | undefined): void {
    if (quota !== undefined) this.#written.set(quota.metadata.name, quota.status.used);
  }

  /**
   * The status that is to be written.
   *
   * @param provenAt when everything was last known to be complete, in milliseconds since the epoch
   * @returns undefined if nothing has changed, or another replica has seen more
   */
  next(quota: TenantQuota, provenAt: number): object | undefined {
    const { spec, status, metadata } = quota;
    const tenant = metadata.name;
    const { usage, onRepair } = this.#options;
    const ledger = ledgerOf(quota);
    const next = settle(ledger, this.#countedOf(tenant, provenAt));
    const used = textsAs(spec.hard, next.used ?? NOTHING);
    const reservations = reservationStatus(next);
    if (isEqual(status.used, used) && isEqual(status.reservations ?? [], reservations)) return undefined;
    if (!usage.includesRevisions(status.revisions ?? {})) return undefined;
    const written = this.#written.get(tenant);
    if (written !== undefined && !isEqual(written, status.used)) onRepair(tenant);
    const removed = Object.keys(status.used ?? {}).filter((resource) => !(resource in spec.hard));
    const counted = new Set(Object.keys(usage.revisions));
    const unknown = Object.keys(spec.hard).filter((resource) => !isLimiting(resource, counted));
    return {
      // A merge patch removes a key by null.
      used: { ...used, ...Object.fromEntries(removed.map((resource) => [resource, null])) },
      reservations,
      summary: quotaSummary({ spec, status: { used } }),
      problem: unknown.length > 0 ? `not counted, so they limit nothing: ${unknown.join(', ')}` : null,
      revisions: usage.revisions,
    };
  }

  #countedOf(tenant: string, provenAt: number): Counted {
    const { usage } = this.#options;
    return {
      used: usage.usedBy(tenant),
      usageOf: (uid) => usage.usageOf(uid, tenant),
      isOver: (reservation) => usage.wasDeleted(reservation.uid) || this.#isExpired(reservation, provenAt),
    };
  }

  /** Whether what was admitted would have been seen by now if it had been stored. */
  #isExpired(reservation: Reservation, provenAt: number): boolean {
    const key = reservationKey(reservation);
    const since = this.#reservedAt.get(key) ?? this.#options.clock.now();
    this.#reservedAt.set(key, since);
    return provenAt >= since + REQUEST_TIMEOUT;
  }

  /** @param quotas all of them */
  forgetEnded(quotas: Iterable<TenantQuota>): void {
    if (this.#reservedAt.size === 0) return;
    const open = new Set([...quotas].flatMap((quota) => ledgerOf(quota).reservations.map(reservationKey)));
    this.#reservedAt = new Map([...this.#reservedAt].filter(([key]) => open.has(key)));
  }
}

function reservationKey({ uid, usage }: Reservation): string {
  return `${uid} ${[...usage].join()}`;
}
