/**
 * A cluster in memory with one tenant that has a quota: replicas that reserve usage, an API server that
 * stores admitted objects at once, late or never, and counters that receive the events of each kind late.
 */

import type { AdvanceBounds } from '../../src/features/quota/advance.ts';
import { QuotaStatuses } from '../../src/features/quota/quota-status.ts';
import { objectID } from '../../src/features/quota/reservation.ts';
import {
  createReservations,
  type QuotaVerdict,
  type Reservations,
} from '../../src/features/quota/reservations.ts';
import { StoredQuotas } from '../../src/features/quota/stored-quotas.ts';
import {
  readTenantQuota,
  TENANT_QUOTAS,
  type TenantQuota,
} from '../../src/features/quota/tenant-quota-v1alpha1.ts';
import { type CountedObject, UsageStore } from '../../src/features/quota/usage-store.ts';
import type { Place } from '../../src/kubernetes/kubernetes-object.ts';
import { ONE } from '../../src/kubernetes/quantity.ts';
import type { Usage } from '../../src/kubernetes/resource-quota/usage.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createFakeClock } from './fake-clock.ts';
import { createMemoryObjects } from './memory-objects.ts';

const PLACE: Place = { namespace: 'stonegate' };
const TENANT = 'acme';
const NAMESPACE = 'web';

const WORLD_KINDS = ['pods', 'services'] as const;
export type WorldKind = (typeof WORLD_KINDS)[number];

/** An object as the API server has it. */
export interface WorldObject {
  readonly kind: WorldKind;
  readonly name: string;
  /** Of a pod that runs; a pod that has ended uses nothing. */
  readonly cpu: number;
  readonly hasEnded: boolean;
  readonly revision: number;
}

interface WorldEvent {
  readonly object: WorldObject;
  readonly isDeletion: boolean;
}

function usageOf({ kind, cpu, hasEnded }: Pick<WorldObject, 'kind' | 'cpu' | 'hasEnded'>): Usage {
  if (hasEnded) return new Map();
  if (kind === 'services') return new Map([['services', ONE]]);
  return new Map([
    ['pods', ONE],
    ['requests.cpu', BigInt(cpu) * ONE],
  ]);
}

const idOf = (name: string) => objectID('', NAMESPACE, name, name);

export type QuotaWorld = ReturnType<typeof createQuotaWorld>;
export type Counter = ReturnType<QuotaWorld['counter']>;

/** What a counter writes by. */
export interface Looked {
  readonly quota: TenantQuota;
  readonly found: ReadonlyMap<string, number>;
}

/**
 * @param hard the limits as in a TenantQuota
 * @param inAdvance how much replicas reserve in advance
 */
export function createQuotaWorld(hard: Readonly<Record<string, string>>, inAdvance?: AdvanceBounds) {
  const clock = createFakeClock(1_000_000);
  const objects = createMemoryObjects();
  const stored = new Map<string, WorldObject>();
  const events: Readonly<Record<WorldKind, WorldEvent[]>> = { pods: [], services: [] };
  let revision = 1;
  objects.put(TENANT_QUOTAS, PLACE, { kind: 'TenantQuota', metadata: { name: TENANT }, spec: { hard } });

  const quota = (): TenantQuota => {
    const found = objects.find(TENANT_QUOTAS, PLACE, TENANT);
    const read = found && readTenantQuota(structuredClone(found));
    if (read === undefined) throw new Error('the TenantQuota is gone');
    return read;
  };

  /** A counter that has listed everything. */
  function counter() {
    const usage = new UsageStore({ clock, onChange() {} });
    usage.addNames(Object.keys(hard));
    const known = new StoredQuotas({ clock, logger: silentLogger });
    const owner = { tenant: TENANT, project: '' };
    const namespace: CountedObject = {
      ...{ key: NAMESPACE, id: 'n', place: NAMESPACE, revision: 1, usage: new Map(), owner },
    };
    usage.storeOf('namespaces').put(namespace);
    const stores = { pods: usage.storeOf('pods'), services: usage.storeOf('services') };
    const seen = { pods: 0, services: 0 };
    const behind = new Set<WorldKind>();
    const listBefore = (kind: string) => {
      for (const one of WORLD_KINDS) if (one === kind) behind.add(one);
    };
    const listedAt = new Map<string, number>();
    const statuses = new QuotaStatuses({
      usage,
      clock,
      storedWithin: 15_000,
      ageOf: (tenant, reservation) => known.ageOf(tenant, reservation),
      lists: {
        unlisted: new Set(),
        listedAt: (kind) => listedAt.get(kind) ?? Number.NEGATIVE_INFINITY,
        renew: listBefore,
      },
      onRepair() {},
    });
    const countedOf = (object: WorldObject): CountedObject => ({
      ...{ key: object.name, id: idOf(object.name), place: NAMESPACE },
      ...{ revision: object.revision, usage: usageOf(object) },
    });
    const self = {
      list(kind: WorldKind) {
        const list = stores[kind].beginList(revision);
        list.take([...stored.values()].filter((object) => object.kind === kind).map(countedOf));
        list.end();
        seen[kind] = events[kind].length;
        listedAt.set(kind, clock.monotonic());
        behind.delete(kind);
      },
      /** Delivers this many further events to the counter; by default all of them. */
      deliver(kind: WorldKind, count = events[kind].length) {
        for (const { object, isDeletion } of events[kind].slice(seen[kind], seen[kind] + count))
          stores[kind][isDeletion ? 'delete' : 'put'](countedOf(object));
        seen[kind] = Math.min(events[kind].length, seen[kind] + count);
      },
      /** Receives the TenantQuota, as a replica without the lease does too. */
      observe: () => void known.read(objects.find(TENANT_QUOTAS, PLACE, TENANT)),
      /** Reads the TenantQuota, and asks the API server about objects that were not seen in time. */
      look(): Looked {
        self.observe();
        const read = quota();
        const found = statuses.unresolved(read).map(({ id, object: { name } }) => {
          return [id, stored.get(name)?.revision ?? 0] as const;
        });
        return { quota: read, found: new Map(found) };
      },
      /** Writes the status, as the leader does. @returns whether no other client was faster */
      async write(looked?: Looked) {
        const { quota: read, found } = looked ?? self.look();
        const next = statuses.next(read, found);
        for (const kind of behind) self.list(kind);
        if (next === undefined) return true;
        const changed = { ...read, status: next.status };
        const outcome = await objects.update(TENANT_QUOTAS, PLACE, changed, NEVER, 'status');
        return outcome !== 'conflict';
      },
    };
    for (const kind of WORLD_KINDS) self.list(kind);
    return self;
  }

  const put = (object: Omit<WorldObject, 'revision'>) => {
    revision += 1;
    const written = { ...object, revision };
    stored.set(object.name, written);
    events[object.kind].push({ object: written, isDeletion: false });
  };
  return {
    clock,
    objects,
    stored,
    counter,
    quota,
    put,
    replica: () =>
      createReservations({
        ...{ objects, place: PLACE, clock, random: systemRandom, reserves: true },
        ...(inAdvance && { inAdvance }),
      }),
    /**
     * @param before the stored object, or a former state of it; undefined for a new object
     * @param after what it is to become
     */
    async admit(
      replica: Reservations,
      before: WorldObject | undefined,
      after: Pick<WorldObject, 'kind' | 'name' | 'cpu'>,
    ): Promise<QuotaVerdict['kind']> {
      const { kind, name } = after;
      const { verdict } = await replica.admit(TENANT, {
        id: idOf(name),
        object: { resource: kind, namespace: NAMESPACE, name },
        revision: before?.revision ?? 0,
        before: before === undefined ? new Map() : usageOf(before),
        after: usageOf({ ...after, hasEnded: before?.hasEnded === true }),
        isDryRun: false,
        missing: () => [],
        signal: new AbortController().signal,
      });
      return verdict.kind;
    },
    delete(name: string) {
      const object = stored.get(name);
      if (object === undefined) return;
      revision += 1;
      stored.delete(name);
      events[object.kind].push({ object: { ...object, revision }, isDeletion: true });
    },
    /** The number of open reservations. */
    get reserved() {
      return (quota().status.ledger ?? '').split('\n').filter((line) => line !== '').length;
    },
  };
}

const NEVER = new AbortController().signal;
