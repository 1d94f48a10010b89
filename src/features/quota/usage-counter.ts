/**
 * Counts what tenants use and writes it to their TenantQuotas: informers of the counted kinds, on the replica
 * with the lease. A write costs the API server and the replicas that reserve, so one that helps no request
 * waits.
 */
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { type Place, placeOf } from '../../kubernetes/kubernetes-object.ts';
import { readRevision } from '../../kubernetes/list-watch.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { ONE } from '../../kubernetes/quantity.ts';
import type { Failure } from '../../kubernetes/reconcile/apply.ts';
import type { Usage } from '../../kubernetes/resource-quota/usage.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { RequestedTotals } from '../usage/feature.ts';
import { CountedInformers, type CountedInformersOptions } from './counted-informers.ts';
import { type NextStatus, QuotaStatuses } from './quota-status.ts';
import { objectIDOf, type Reservation } from './reservation.ts';
import type { StoredQuotas } from './stored-quotas.ts';
import { TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';
import { type PlaceOwner, UsageStore } from './usage-store.ts';

export interface UsageCounterOptions extends Omit<CountedInformersOptions, 'onUpdate'> {
  readonly objects: Objects;
  readonly quotas: StoredQuotas;
  /** Where the TenantQuotas are. */
  readonly place: Place;
  /** The resources that new quotas limit. */
  readonly byDefault: Readonly<Record<string, string>>;
  /** Called after each change that may change a status. */
  readonly onChange: () => void;
  /** Called if a status was changed by another client. */
  readonly onRepair: (tenant: string) => void;
}

/** Statuses that are written at the same time. */
const CONCURRENCY = 8;
/** Writes of a status in one run that another client's change may defeat. */
const ATTEMPTS = 8;
/** Milliseconds between two writes of a status that help no request. */
const LAZY = 5_000;
/**
 * Milliseconds after which no client, controller or webhook waits any more for what was admitted; with
 * webhooks of tenants, each of which delays a request by up to 30 s.
 */
const STORED_WITHIN = 15_000;
const STORED_AFTER_WEBHOOKS = 40_000;
const REQUESTED = ['pods', 'requests.cpu', 'requests.memory', 'requests.storage'];

export class UsageCounter {
  readonly #options: UsageCounterOptions;
  readonly #counted: CountedInformers;
  readonly #usage: UsageStore;
  readonly #statuses: QuotaStatuses;
  /** TenantQuotas as they were received, by tenant, where nothing has to be written. */
  readonly #settled = new Map<string, TenantQuota>();
  /** When the status of a tenant was last written, by the monotonic clock. */
  readonly #writtenAt = new Map<string, number>();
  /** As the conditions of the settled quotas say. */
  #unlisted = '';

  constructor(options: UsageCounterOptions) {
    this.#options = options;
    const { clock, quotas, tenancy, byDefault, onChange } = options;
    this.#usage = new UsageStore({
      clock,
      onChange: (tenant) => {
        if (tenant === undefined) this.#settled.clear();
        else this.#settled.delete(tenant);
        onChange();
      },
    });
    this.#usage.addNames([...REQUESTED, ...Object.keys(byDefault), ...quotas.values().flatMap(namesIn)]);
    this.#counted = new CountedInformers({ ...options, onUpdate: onChange }, this.#usage);
    this.#statuses = new QuotaStatuses({
      ...options,
      usage: this.#usage,
      lists: this.#counted,
      storedWithin: tenancy.facts.tenantsRegisterWebhooks ? STORED_AFTER_WEBHOOKS : STORED_WITHIN,
      ageOf: (tenant, reservation) => quotas.ageOf(tenant, reservation),
    });
  }

  start(): void {
    this.#counted.informers.start();
  }

  stop(): Promise<void> {
    return this.#counted.informers.stop();
  }

  /** Whether the tenants and their quotas are known. */
  get isComplete(): boolean {
    return this.#options.quotas.areListed && this.#usage.revisionOf('namespaces') > 0;
  }

  /** The kinds that cannot be listed or watched. */
  get unlisted(): ReadonlySet<string> {
    return this.#counted.unlisted;
  }

  /** Tenants that have a namespace and no TenantQuota. */
  tenantsWithout(): string[] {
    const known = new Set(this.quotas().map(({ metadata }) => metadata.name));
    return [...this.#usage.tenants].filter((tenant) => !known.has(tenant));
  }

  quotas(): readonly TenantQuota[] {
    return this.#options.quotas.values();
  }

  /** What the objects of each namespace request, with its tenant and project. */
  requested(): RequestedTotals[] {
    return REQUESTED.every((resource) => this.#usage.isCounted(resource)) && this.isComplete
      ? [...this.#usage.byOwner()].map(requestedTotals)
      : [];
  }

  /** Writes what has changed. @returns what could not be written */
  async write(signal: AbortSignal): Promise<readonly Failure[]> {
    if (!this.isComplete) return [];
    const names = new Set(this.quotas().map(({ metadata }) => metadata.name));
    for (const name of this.#settled.keys()) if (!names.has(name)) this.#settled.delete(name);
    const unlisted = [...this.unlisted].join();
    if (unlisted !== this.#unlisted) this.#settled.clear();
    this.#unlisted = unlisted;
    const pending = this.quotas().filter((quota) => this.#settled.get(quota.metadata.name) !== quota);
    for (const kind of this.#usage.addNames(pending.flatMap(namesIn))) this.#counted.renew(kind);
    for (const quota of pending) this.#settled.set(quota.metadata.name, quota);
    const failures = await mapWithConcurrency(pending, CONCURRENCY, (quota) => this.#writeOne(quota, signal));
    return failures.flat();
  }

  async #writeOne(quota: TenantQuota, signal: AbortSignal): Promise<Failure[]> {
    const { place } = this.#options;
    const failures: Failure[] = [];
    const change = {
      action: 'update',
      kind: TENANT_QUOTAS,
      place,
      object: quota,
      reason: 'its usage',
    } as const;
    const attempt: Attempt = async (work) => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        failures.push({ change, reason: reasonOf(error) });
        return undefined;
      }
    };
    const isWritten = await attempt(() => this.#tryToWrite(quota, signal, attempt));
    if (isWritten !== true) this.#settled.delete(quota.metadata.name);
    return failures;
  }

  /**
   * While pods are created the object changes all the time: after a conflict it is read again at once, or
   * reservations would pile up.
   *
   * @param attempt looks for an object: if that fails, everything else is written
   * @returns whether there is nothing more to write
   */
  async #tryToWrite(listed: TenantQuota, signal: AbortSignal, attempt: Attempt): Promise<boolean> {
    const { objects, place, quotas, clock } = this.#options;
    const tenant = listed.metadata.name;
    let quota: TenantQuota | undefined = listed;
    for (let count = 1; count <= ATTEMPTS && quota !== undefined; count += 1) {
      const next = await this.#nextStatus(quota, signal, attempt);
      // Reservations end with time, so a quota that has some is looked at again. If another replica has seen
      // more, the next event that arrives here causes that.
      if (next === undefined || signal.aborted) return isSettled(quota);
      if (!next.isUrgent && clock.monotonic() - (this.#writtenAt.get(tenant) ?? -LAZY) < LAZY) return false;
      const changed = { ...quota, status: next.status };
      const outcome = await objects.update(TENANT_QUOTAS, place, changed, signal, 'status');
      if (outcome === 'gone') return true;
      if (outcome !== 'conflict') {
        this.#writtenAt.set(tenant, clock.monotonic());
        const written = quotas.read(outcome);
        this.#statuses.written(written);
        return written === undefined || isSettled(written);
      }
      const object = await objects.get(TENANT_QUOTAS, place, tenant, signal);
      quota = object && quotas.read(object);
    }
    return quota === undefined;
  }

  async #nextStatus(
    quota: TenantQuota,
    signal: AbortSignal,
    attempt: Attempt,
  ): Promise<NextStatus | undefined> {
    const found = new Map<string, number>();
    await mapWithConcurrency(this.#statuses.unresolved(quota), CONCURRENCY, async (reservation) => {
      const revision = await attempt(() => this.#find(quota, reservation, signal));
      if (revision !== undefined) found.set(reservation.id, revision);
    });
    return this.#statuses.next(quota, found);
  }

  /** @returns the revision of the object of the reservation; 0 if there is none, or another of its name */
  async #find(quota: TenantQuota, { id, object }: Reservation, signal: AbortSignal): Promise<number> {
    const { objects, tenancy } = this.#options;
    const { resource, namespace, name } = object;
    const kind = this.#counted.kindOf(resource);
    if (kind === undefined) return 0;
    const place = placeOf({
      tenant: tenancy.facts.hasTenantsInPaths ? quota.metadata.name : undefined,
      namespace: kind.namespaced ? namespace : undefined,
    });
    const metadata = await objects.getMetadata(kind, place, name, signal);
    return objectIDOf({ metadata }) === id ? readRevision(metadata?.resourceVersion) : 0;
  }
}

/** @returns undefined if the API server does not respond, or refuses: that is reported */
type Attempt = <T>(work: () => Promise<T>) => Promise<T | undefined>;

function namesIn({ spec: { hard } }: TenantQuota): string[] {
  return Object.keys(hard);
}

function isSettled({ status: { ledger = '', reservations } }: TenantQuota): boolean {
  return ledger === '' && reservations === undefined;
}

function requestedTotals({
  tenant,
  project,
  usage,
}: PlaceOwner & { readonly usage: Usage }): RequestedTotals {
  const amount = (resource: string) => Number(usage.get(resource) ?? 0n) / Number(ONE);
  return {
    tenant,
    project,
    cpuCores: amount('requests.cpu'),
    memoryBytes: amount('requests.memory'),
    pods: amount('pods'),
    storageBytes: amount('requests.storage'),
  };
}
