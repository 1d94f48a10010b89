/**
 * The status of TenantQuotas as it follows from what was counted: what is used, and which reservations are
 * still open. The status names the revision of each kind up to which objects were counted: of two replicas
 * that both think that they have the lease, the one that has seen less of a kind writes nothing of it.
 */

import { isLimiting, kindOfResource } from '../../kubernetes/resource-quota/object-usage.ts';
import { NOTHING, textsAs } from '../../kubernetes/resource-quota/usage.ts';
import type { Clock } from '../../lib/clock.ts';
import { isEqual } from '../../lib/json-equal.ts';
import { conditionsWith } from '../status-conditions.ts';
import { ADVANCE_LIFETIME } from './advance.ts';
import type { CountedInformers } from './counted-informers.ts';
import { isOver, isUrgent, type Ledger, settle } from './ledger.ts';
import { quotaSummary } from './own-quota-v1alpha1.ts';
import { ANY_NAME, type Reservation } from './reservation.ts';
import { ledgerOf, linesOf } from './stored-ledger.ts';
import type { TenantQuota, TenantQuotaStatus } from './tenant-quota-v1alpha1.ts';
import type { UsageStore } from './usage-store.ts';

/** When the counted kinds were listed. */
export type CountedLists = Pick<CountedInformers, 'unlisted' | 'listedAt' | 'renew'>;

export interface QuotaStatusOptions {
  readonly usage: UsageStore;
  readonly clock: Clock;
  readonly lists: CountedLists;
  /** Milliseconds in which what was admitted is stored, or never. */
  readonly storedWithin: number;
  /** @returns for how many milliseconds this process has known the reservation with its mark */
  readonly ageOf: (tenant: string, reservation: Reservation) => number;
  /** Called if a status was changed by another client. */
  readonly onRepair: (tenant: string) => void;
}

/** Milliseconds between two lists of a kind of which another process has seen a later revision. */
const RENEWAL = 60_000;

/** The object's revision at the API server by the id of its reservation, 0 if there is none. */
export type FoundObjects = ReadonlyMap<string, number>;

export interface NextStatus {
  readonly status: TenantQuotaStatus;
  readonly isUrgent: boolean;
}

export class QuotaStatuses {
  readonly #options: QuotaStatusOptions;
  /** What this process last wrote to `used`, by tenant: any other value is another client's. */
  readonly #written = new Map<string, TenantQuotaStatus['used']>();

  constructor(options: QuotaStatusOptions) {
    this.#options = options;
  }

  /** @param quota as it was written */
  written(quota: TenantQuota | undefined): void {
    if (quota !== undefined) this.#written.set(quota.metadata.name, quota.status.used);
  }

  /** The reservations whose time is over although it is not known what became of their objects. */
  unresolved(quota: TenantQuota): readonly Reservation[] {
    const { ageOf, storedWithin } = this.#options;
    return [...ledgerOf(quota).reservations.values()].filter(
      (reservation) =>
        reservation.object.name !== ANY_NAME &&
        ageOf(quota.metadata.name, reservation) >= storedWithin &&
        this.#isKnown(reservation.object.resource, quota) &&
        !this.#isOver(quota.metadata.name, reservation, undefined),
    );
  }

  /**
   * The status that is to be written.
   *
   * @param found of the objects of unresolved reservations
   * @returns undefined if nothing has changed, or another replica has seen more
   */
  next(quota: TenantQuota, found: FoundObjects): NextStatus | undefined {
    const { spec, status, metadata } = quota;
    const tenant = metadata.name;
    const { clock, onRepair } = this.#options;
    // As long as the namespaces are unknown, so is the tenant of every object.
    if (!this.#isKnown('namespaces', quota)) return undefined;
    const before = ledgerOf(quota);
    const after = this.#settled(quota, before, found);
    const used = textsAs(spec.hard, after.used);
    const ledger = linesOf(after);
    const conditions = conditionsWith(quota, this.#ready(quota), clock.now());
    const { reservations, ledger: lines = '' } = status;
    const isSame = isEqual(status.used, used) && ledger === lines && reservations === undefined;
    if (isSame && conditions === undefined) return undefined;
    const written = this.#written.get(tenant);
    if (written !== undefined && !isEqual(written, status.used)) onRepair(tenant);
    return {
      status: {
        used,
        ledger,
        summary: quotaSummary({ spec, status: { used } }),
        conditions: [...(conditions ?? status.conditions ?? [])],
        revisions: { ...status.revisions, ...this.#knownRevisions(quota) },
      },
      isUrgent: conditions !== undefined || isUrgent(before, after),
    };
  }

  #settled({ spec, metadata, ...quota }: TenantQuota, before: Ledger, found: FoundObjects): Ledger {
    const { usage } = this.#options;
    const tenant = metadata.name;
    const counted = Object.keys(spec.hard).filter(
      (resource) =>
        !isLimiting(resource, usage.kinds) ||
        (usage.isCounted(resource) && this.#isKnown(kindOfResource(resource), quota)),
    );
    return settle(before, usage.usedBy(tenant, counted), (reservation) => {
      const { id, object } = reservation;
      if (!usage.kinds.has(object.resource)) return 'over';
      if (!this.#isKnown(object.resource, quota)) return undefined;
      if (this.#isOver(tenant, reservation, found.get(id))) return 'over';
      const seen = usage.find(id);
      return seen?.tenant === tenant ? seen.usage : NOTHING;
    });
  }

  /** Whether the objects of a kind are known at least as they were when they were last counted. */
  #isKnown(kind: string, { status }: Pick<TenantQuota, 'status'>): boolean {
    const { usage, lists, clock } = this.#options;
    const known = usage.revisionOf(kind);
    const isBehind = known < Number(status.revisions?.[kind] ?? 0);
    if (known > 0 && isBehind) lists.renew(kind, clock.monotonic() - RENEWAL);
    return known > 0 && !isBehind;
  }

  #knownRevisions(quota: TenantQuota) {
    const { usage } = this.#options;
    const known = [...usage.kinds].filter((kind) => this.#isKnown(kind, quota));
    return Object.fromEntries(known.map((kind) => [kind, String(usage.revisionOf(kind))]));
  }

  #isOver(tenant: string, reservation: Reservation, found: number | undefined): boolean {
    const { usage } = this.#options;
    const { id, object } = reservation;
    if (object.name === ANY_NAME) return this.#isAdvanceOver(tenant, reservation);
    const [revision, wasDeleted] = [usage.find(id)?.revision, usage.wasDeleted(id)];
    return isOver(reservation, { revision, wasDeleted, found });
  }

  /** The API server stores what was admitted in advance by a certain time, or never: a later list has it. */
  #isAdvanceOver(tenant: string, reservation: Reservation): boolean {
    const { clock, ageOf, storedWithin, lists } = this.#options;
    const { resource } = reservation.object;
    const now = clock.monotonic();
    const end = now - ageOf(tenant, reservation) + ADVANCE_LIFETIME + storedWithin;
    if (now < end) return false;
    const isListed = lists.listedAt(resource) >= end;
    if (!isListed) lists.renew(resource, end);
    return isListed;
  }

  #ready({ spec: { hard } }: TenantQuota) {
    const { usage, lists } = this.#options;
    const names = Object.keys(hard);
    const failing = lists.unlisted;
    const missing = new Set(names.map(kindOfResource).filter((kind) => failing.has(kind)));
    const unknown = names.filter((resource) => !isLimiting(resource, usage.kinds));
    const problems = [
      {
        of: [...missing].sort(),
        reason: 'KindUnlisted',
        what: 'cannot be listed, so they are not counted anew',
      },
      { of: unknown, reason: 'UnknownNames', what: 'not counted, so they limit nothing' },
    ].filter(({ of }) => of.length > 0);
    const [first] = problems;
    if (first === undefined)
      return { ready: true, reason: 'Counted', message: 'all that hard names is counted' };
    const message = problems.map(({ what, of }) => `${what}: ${of.join(', ')}`).join('; ');
    return { ready: false, reason: first.reason, message };
  }
}
