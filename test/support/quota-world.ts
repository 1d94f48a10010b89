/**
 * A cluster in memory with one tenant that has a quota: replicas that reserve usage, an API server that
 * stores admitted objects at once, late or never, and counters that receive its events late.
 */

import { QuotaStatuses } from '../../src/features/quota/quota-status.ts';
import {
  createReservations,
  type QuotaVerdict,
  type Reservations,
} from '../../src/features/quota/reservations.ts';
import { readTenantQuota, TENANT_QUOTAS } from '../../src/features/quota/tenant-quota-v1alpha1.ts';
import type { Usage } from '../../src/features/quota/usage.ts';
import { type CountedObject, UsageStore } from '../../src/features/quota/usage-store.ts';
import type { Place, StoredObject } from '../../src/kubernetes/kubernetes-object.ts';
import { ONE } from '../../src/kubernetes/quantity.ts';
import { createFakeClock } from './fake-clock.ts';
import { createMemoryObjects } from './memory-objects.ts';

const PLACE: Place = { namespace: 'stonegate' };
const TENANT = 'acme';
const NAMESPACE = 'web';

/** The usage of a pod that requests this many CPUs. */
function podOf(cpu: number): Usage {
  return new Map([
    ['pods', ONE],
    ['requests.cpu', BigInt(cpu) * ONE],
  ]);
}

interface PodEvent {
  readonly uid: string;
  /** Undefined if the pod was deleted. */
  readonly cpu: number | undefined;
  readonly revision: number;
}

export type QuotaWorld = ReturnType<typeof createQuotaWorld>;
export type Counter = ReturnType<QuotaWorld['counter']>;

/** @param hard the limits as in a TenantQuota */
export function createQuotaWorld(hard: Readonly<Record<string, string>>) {
  const clock = createFakeClock(1_000_000);
  const objects = createMemoryObjects();
  /** The CPUs of the stored pods. */
  const pods = new Map<string, number>();
  const events: PodEvent[] = [];
  objects.put(TENANT_QUOTAS, PLACE, { kind: 'TenantQuota', metadata: { name: TENANT }, spec: { hard } });

  const happened = (uid: string, cpu: number | undefined) =>
    void events.push({ uid, cpu, revision: events.length + 1 });
  const quota = () => {
    const found = objects.find(TENANT_QUOTAS, PLACE, TENANT);
    if (found === undefined) throw new Error('the TenantQuota is gone');
    return structuredClone(found);
  };

  function counter() {
    const usage = new UsageStore({ clock, onChange() {} });
    const owner = { tenant: TENANT, project: '' };
    const namespace = { key: NAMESPACE, uid: 'n', place: NAMESPACE, revision: 1, usage: new Map(), owner };
    usage.storeOf('namespaces').put(namespace);
    const store = usage.storeOf('pods');
    const statuses = new QuotaStatuses({ usage, clock, onRepair() {} });
    let seen = 0;
    let provenAt = 0;
    const show = ({ uid, cpu, revision }: PodEvent) => {
      const object: CountedObject = { key: uid, uid, place: NAMESPACE, revision, usage: podOf(cpu ?? 0) };
      if (cpu === undefined) store.delete(object);
      else store.put(object);
    };
    return {
      /** Delivers this many further events to the counter; by default all of them. */
      deliver(count = events.length - seen) {
        for (const event of events.slice(seen, seen + count)) show(event);
        seen = Math.min(events.length, seen + count);
        if (seen === events.length) provenAt = clock.now();
      },
      /** Writes the status, as the leader does. */
      async write(stored: StoredObject = quota()) {
        const read = readTenantQuota(stored);
        const status = read && provenAt > 0 ? statuses.next(read, provenAt) : undefined;
        if (status === undefined) return;
        await objects.updateStatus(TENANT_QUOTAS, PLACE, stored, status, new AbortController().signal);
      },
    };
  }

  return {
    clock,
    objects,
    pods,
    counter,
    quota,
    replica: () => createReservations({ objects, place: PLACE, reserves: true }),
    async admit(replica: Reservations, uid: string, cpu: number): Promise<QuotaVerdict['kind']> {
      const before = pods.get(uid);
      const { verdict } = await replica.admit(TENANT, {
        uid,
        before: before === undefined ? new Map() : podOf(before),
        after: podOf(cpu),
        isDryRun: false,
        missing: () => [],
        signal: new AbortController().signal,
      });
      return verdict.kind;
    },
    /** Stores a pod or its new size. */
    store(uid: string, cpu: number) {
      pods.set(uid, cpu);
      happened(uid, cpu);
    },
    delete(uid: string) {
      if (pods.delete(uid)) happened(uid, undefined);
    },
    /** The number of open reservations. */
    get reserved() {
      return readTenantQuota(quota())?.status.reservations?.length ?? 0;
    },
  };
}
