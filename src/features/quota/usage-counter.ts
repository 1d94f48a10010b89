/**
 * Counts what tenants use and writes it to their TenantQuotas: informers of the counted kinds, on the replica
 * with the lease. A write costs the API server and the replicas that reserve, so one that helps no request
 * waits.
 */
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { type InformerRuntime, Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import { readRevision } from '../../kubernetes/list-watch.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { ONE } from '../../kubernetes/quantity.ts';
import type { Failure } from '../../kubernetes/reconcile/apply.ts';
import type { Usage } from '../../kubernetes/resource-quota/usage.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { RequestedTotals } from '../usage/feature.ts';
import { addCountedInformers, type CountedInformers, type CountedKinds } from './counted-informers.ts';
import { type NextStatus, QuotaStatuses } from './quota-status.ts';
import { identityOf } from './quota-tenants.ts';
import type { Reservation } from './reservation.ts';
import type { StoredQuotas } from './stored-quotas.ts';
import { TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';
import { type PlaceOwner, UsageStore } from './usage-store.ts';

export interface UsageCounterOptions extends InformerRuntime, CountedKinds {
  readonly upstream: InformerUpstream;
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
/** Milliseconds for which a kind cannot be listed or watched before its quotas say so. */
const FAILING = 30_000;
/**
 * Milliseconds after which no client, controller or webhook waits any more for what was admitted; with
 * webhooks of tenants, each of which delays a request by up to 30 s.
 */
const STORED_WITHIN = 15_000;
const STORED_AFTER_WEBHOOKS = 40_000;
const REQUESTED = ['pods', 'requests.cpu', 'requests.memory', 'requests.storage'];

export class UsageCounter {
  readonly #options: UsageCounterOptions;
  readonly #informers: Informers;
  readonly #counted: CountedInformers;
  readonly #usage: UsageStore;
  /** Tenants whose status may have to be written although their TenantQuota is unchanged. */
  readonly #dirty = new Set<string>();
  /** Objects as they were received; a TenantQuota that is changed is another object. */
  #checked = new WeakSet<TenantQuota>();
  readonly #statuses: QuotaStatuses;
  /** When the status of a tenant was last written, by the monotonic clock. */
  readonly #writtenAt = new Map<string, number>();
  /** The revisions for whose sake kinds were listed anew. */
  readonly #listedFor = new Map<string, number>();
  /** When kinds were listed anew to be known as they were at some time, by the monotonic clock. */
  readonly #listedSince = new Map<string, number>();
  #unlisted: ReadonlySet<string> = new Set();

  constructor(options: UsageCounterOptions) {
    this.#options = options;
    const { clock, quotas, tenancy, byDefault } = options;
    this.#informers = new Informers({ ...options, name: 'quota' });
    this.#usage = new UsageStore({
      clock,
      onChange: (tenant) => {
        if (tenant === undefined) this.#checked = new WeakSet();
        else this.#dirty.add(tenant);
        options.onChange();
      },
    });
    this.#usage.addNames([...REQUESTED, ...Object.keys(byDefault), ...quotas.values().flatMap(namesIn)]);
    this.#counted = addCountedInformers(this.#informers, options, this.#usage, options.onChange);
    this.#statuses = new QuotaStatuses({
      ...options,
      usage: this.#usage,
      storedWithin: tenancy.facts.tenantsRegisterWebhooks ? STORED_AFTER_WEBHOOKS : STORED_WITHIN,
      ageOf: (tenant, reservation) => quotas.ageOf(tenant, reservation),
      unlisted: () => this.#unlisted,
      onBehind: (kind, revision) => {
        if ((this.#listedFor.get(kind) ?? 0) >= revision) return;
        this.#listedFor.set(kind, revision);
        this.#counted.get(kind)?.informer.listAnew('behind');
      },
      listedAt: (kind) => this.#counted.get(kind)?.informer.listedAt,
      onOutdated: (kind, time) => {
        if ((this.#listedSince.get(kind) ?? Number.NEGATIVE_INFINITY) >= time) return;
        this.#listedSince.set(kind, clock.monotonic());
        this.#counted.get(kind)?.informer.listAnew('behind');
      },
    });
  }

  start(): void {
    this.#informers.start();
  }

  stop(): Promise<void> {
    return this.#informers.stop();
  }

  /** Whether the tenants and their quotas are known. */
  get isComplete(): boolean {
    return this.#options.quotas.areListed && this.#usage.revisionOf('namespaces') > 0;
  }

  /** The kinds that cannot be listed or watched. */
  get unlisted(): ReadonlySet<string> {
    const { clock } = this.#options;
    const failing = [...this.#counted].filter(
      ([, { informer }]) => clock.now() - (informer.failingSince ?? clock.now()) >= FAILING,
    );
    return new Set(failing.map(([kind]) => kind));
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
    const { unlisted } = this;
    if ([...unlisted].join() !== [...this.#unlisted].join()) this.#checked = new WeakSet();
    this.#unlisted = unlisted;
    const pending = this.quotas().filter(
      (quota) => this.#dirty.has(quota.metadata.name) || !this.#checked.has(quota),
    );
    for (const kind of this.#usage.addNames(pending.flatMap(namesIn)))
      this.#counted.get(kind)?.informer.listAnew('behind');
    this.#dirty.clear();
    for (const quota of pending) this.#checked.add(quota);
    const failures = await mapWithConcurrency(pending, CONCURRENCY, (quota) => this.#writeOne(quota, signal));
    return failures.flat();
  }

  async #writeOne(quota: TenantQuota, signal: AbortSignal): Promise<Failure[]> {
    const { place } = this.#options;
    const tenant = quota.metadata.name;
    const change = {
      action: 'update',
      kind: TENANT_QUOTAS,
      place,
      object: quota,
      reason: 'its usage',
    } as const;
    const failures: Failure[] = [];
    const fail = (error: unknown) => {
      if (!(error instanceof StatusError)) throw error;
      failures.push({ change, reason: reasonOf(error) });
    };
    try {
      if (!(await this.#tryToWrite(quota, signal, fail))) this.#dirty.add(tenant);
    } catch (error) {
      this.#dirty.add(tenant);
      fail(error);
    }
    return failures;
  }

  /**
   * While pods are created the object changes all the time: after a conflict it is read again at once, or
   * reservations would pile up.
   *
   * @param fail called if an object could not be looked for; everything else is written
   * @returns whether there is nothing more to write
   */
  async #tryToWrite(
    listed: TenantQuota,
    signal: AbortSignal,
    fail: (error: unknown) => void,
  ): Promise<boolean> {
    const { objects, place, quotas, clock } = this.#options;
    const tenant = listed.metadata.name;
    let quota: TenantQuota | undefined = listed;
    for (let attempt = 1; attempt <= ATTEMPTS && quota !== undefined; attempt += 1) {
      const next = await this.#nextStatus(quota, signal, fail);
      // Reservations end with time, and another writer's lead with the next event.
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
    fail: (error: unknown) => void,
  ): Promise<NextStatus | undefined> {
    const found = new Map<string, number>();
    await mapWithConcurrency(this.#statuses.unresolved(quota), CONCURRENCY, async (reservation) => {
      try {
        found.set(reservation.id, await this.#find(quota, reservation, signal));
      } catch (error) {
        fail(error);
      }
    });
    return this.#statuses.next(quota, found);
  }

  /** @returns the revision of the object of the reservation; 0 if there is none, or another of its name */
  async #find(quota: TenantQuota, { id, object }: Reservation, signal: AbortSignal): Promise<number> {
    const { objects, tenancy } = this.#options;
    const { resource, namespace, name } = object;
    const kind = this.#counted.get(resource)?.kind;
    if (kind === undefined) return 0;
    const place = {
      ...(tenancy.facts.hasTenantsInPaths && { tenant: quota.metadata.name }),
      ...(kind.namespaced && { namespace }),
    };
    const metadata = await objects.getMetadata(kind, place, name, signal);
    return identityOf({ metadata }) === id ? readRevision(metadata?.resourceVersion) : 0;
  }
}

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
