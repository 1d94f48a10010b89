/**
 * Counts what tenants use and writes it to their TenantQuotas: informers of the counted kinds, on the replica
 * with the lease.
 */
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { ObjectStore } from '../../kubernetes/informer-store.ts';
import { type InformerRuntime, Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { ONE } from '../../kubernetes/quantity.ts';
import type { Failure } from '../../kubernetes/reconcile/apply.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { RequestedTotals } from '../usage/feature.ts';
import { addCountedInformers, type CountedKinds } from './counted-informers.ts';
import { QuotaStatuses } from './quota-status.ts';
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

/** Statuses that are written at the same time. */
const CONCURRENCY = 8;
/** Writes of a status in one run that another client's change may defeat. */
const ATTEMPTS = 8;
const EVERYTHING = { objects: 1_000_000, bytes: 512 * 1024 * 1024 };

export class UsageCounter {
  readonly #options: UsageCounterOptions;
  readonly #informers: Informers;
  readonly #usage: UsageStore;
  readonly #quotas: ObjectStore<TenantQuota>;
  /** Tenants whose status may have to be written although their TenantQuota is unchanged. */
  readonly #dirty = new Set<string>();
  /** Objects as they were received; a TenantQuota that is changed is another object. */
  readonly #checked = new WeakSet<TenantQuota>();
  readonly #statuses: QuotaStatuses;

  constructor(options: UsageCounterOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#informers = new Informers({ ...options, name: 'quota' });
    this.#usage = new UsageStore({
      clock,
      onChange: (tenant) => {
        this.#dirty.add(tenant);
        options.onChange();
      },
    });
    this.#quotas = new ObjectStore({
      bounds: EVERYTHING,
      onLeftOut: () => logger.error({}, 'quota: there are too many TenantQuotas'),
    });
    addCountedInformers(this.#informers, options, {
      usage: this.#usage,
      quotas: this.#quotas,
      onUpdate: options.onChange,
    });
    this.#statuses = new QuotaStatuses({ ...options, usage: this.#usage });
  }

  start(): void {
    this.#informers.start();
  }

  stop(): Promise<void> {
    return this.#informers.stop();
  }

  /** Whether everything has been listed. */
  get isComplete(): boolean {
    return this.#provenAt > 0;
  }

  /** When everything was last known to be complete, in milliseconds since the epoch; 0 before. */
  get #provenAt(): number {
    return Math.min(...this.#informers.all.map(({ provenAt = 0 }) => provenAt));
  }

  /** Tenants that have a namespace and no TenantQuota. */
  tenantsWithout(): string[] {
    const known = new Set(this.#quotas.values().map(({ metadata }) => metadata.name));
    return [...this.#usage.tenants].filter((tenant) => !known.has(tenant));
  }

  quotas(): readonly TenantQuota[] {
    return this.#quotas.values();
  }

  /** What the objects of each namespace request, with its tenant and project. */
  requested(): RequestedTotals[] {
    return this.isComplete ? [...this.#usage.byOwner()].map(requestedTotals) : [];
  }

  /** Writes what has changed. @returns what could not be written */
  async write(signal: AbortSignal): Promise<readonly Failure[]> {
    if (!this.isComplete) return [];
    const quotas = this.#quotas.values();
    const pending = quotas.filter(
      (quota) => this.#dirty.has(quota.metadata.name) || !this.#checked.has(quota),
    );
    this.#dirty.clear();
    for (const quota of pending) this.#checked.add(quota);
    const failures = await mapWithConcurrency(pending, CONCURRENCY, (quota) => this.#writeOne(quota, signal));
    this.#statuses.forgetEnded(quotas);
    return failures.flat();
  }

  async #writeOne(quota: TenantQuota, signal: AbortSignal): Promise<Failure[]> {
    const { place } = this.#options;
    const tenant = quota.metadata.name;
    try {
      if (!(await this.#tryToWrite(quota, signal))) this.#dirty.add(tenant);
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

  /**
   * While pods are created the object changes all the time: after a conflict it is read again at once, or
   * reservations would pile up.
   *
   * @returns whether there is nothing more to write
   */
  async #tryToWrite(listed: TenantQuota, signal: AbortSignal): Promise<boolean> {
    const { objects, place } = this.#options;
    let quota: TenantQuota | undefined = listed;
    for (let attempt = 1; attempt <= ATTEMPTS && quota !== undefined; attempt += 1) {
      const status = this.#statuses.next(quota, this.#provenAt);
      // Reservations end with time, and another writer's lead with the next event.
      if (status === undefined || signal.aborted) return (quota.status.reservations ?? []).length === 0;
      const outcome = await objects.updateStatus(TENANT_QUOTAS, place, quota, status, signal);
      if (outcome === 'gone') return true;
      if (outcome !== 'conflict') {
        const written = readTenantQuota(outcome);
        this.#statuses.written(written);
        return (written?.status.reservations ?? []).length === 0;
      }
      const object = await objects.get(TENANT_QUOTAS, place, quota.metadata.name, signal);
      quota = object && readTenantQuota(object);
    }
    return quota === undefined;
  }
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
