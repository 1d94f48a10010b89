/**
 * How soon the room of a deleted pod can be used again, with a TenantQuota and with a ResourceQuota, and
 * after the loss of the replica that counts; and for how long a create that was admitted blocks room if the
 * pod is never stored.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  areUsing,
  createPod,
  forEach,
  PLENTY,
  podsIn,
  type QuotaCluster,
  withQuotaCluster,
} from './quota-cluster.ts';
import { type Spread, spreadOf } from './statistics.ts';

export interface QuotaWaits {
  /** Milliseconds from the response to a DELETE until a create succeeds that had no room. */
  readonly givenBackMs: { readonly TenantQuota: Spread; readonly ResourceQuota: Spread };
  /** Seconds from a create that was admitted and not stored until another one has its room. */
  readonly blockedSeconds: Spread;
}

const TURNS = 10;
const BLOCKED = 3;

export async function measureWaits(cluster: QuotaCluster): Promise<QuotaWaits> {
  const { kubernetes, namespace, limit } = cluster;
  const name = 'waits';
  await namespace(name, name);
  await limit(name, { pods: '1' });
  const own = 'waits-own';
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: own } });
  const quota = { metadata: { name: own }, spec: { hard: { pods: '1' } } };
  await kubernetes.create(`/api/v1/namespaces/${own}/resourcequotas`, quota);
  await until(() => areUsing(cluster, 'ResourceQuota', new Set([own]), '0'), 100);
  const givenBack = { TenantQuota: [] as number[], ResourceQuota: [] as number[] };
  for (let turn = 0; turn < TURNS; turn += 1) {
    givenBack.TenantQuota.push(await untilGivenBack(cluster, 'TenantQuota', name));
    givenBack.ResourceQuota.push(await untilGivenBack(cluster, 'ResourceQuota', own));
  }
  const blocked = await Promise.all(
    Array.from({ length: BLOCKED }, (_, at) => untilUnblocked(cluster, `blocked-${at}`)),
  );
  return {
    givenBackMs: {
      TenantQuota: spreadOf(givenBack.TenantQuota),
      ResourceQuota: spreadOf(givenBack.ResourceQuota),
    },
    blockedSeconds: spreadOf(blocked),
  };
}

/** @param name of the namespace and of its quota, which has room for one pod */
async function untilGivenBack(
  cluster: QuotaCluster,
  kind: 'TenantQuota' | 'ResourceQuota',
  name: string,
): Promise<number> {
  const remove = (pod: string) =>
    cluster.kubernetes.admit('DELETE', `${podsIn(name)}/${pod}?gracePeriodSeconds=0`);
  const settled = (pods: string) => until(() => areUsing(cluster, kind, new Set([name]), pods), 100);
  const isCreated = async (pod: string) => (await createPod(cluster, name, pod)).status === 201;
  await until(() => isCreated('first'), 100);
  await settled('1');
  await remove('first');
  const began = performance.now();
  await until(() => isCreated('second'), 5);
  const milliseconds = performance.now() - began;
  await remove('second');
  await settled('0');
  return milliseconds;
}

/** A pod of a name that is taken is admitted, and refused when it would be stored. */
async function untilUnblocked(cluster: QuotaCluster, name: string): Promise<number> {
  await cluster.namespace(name, name);
  await cluster.limit(name, PLENTY);
  await createPod(cluster, name, 'first');
  await cluster.limit(name, { pods: '2' });
  await until(() => areUsing(cluster, 'TenantQuota', new Set([name]), '1'), 100);
  const { status, body } = await createPod(cluster, name, 'first');
  if (status !== 409) throw new Error(body);
  const began = performance.now();
  await until(async () => (await createPod(cluster, name, 'second')).status === 201, 250);
  return (performance.now() - began) / 1_000;
}

const TENANTS = 100;
const AT_ONCE = 16;

/** Seconds from the loss of the leader, and a DELETE after it, until there is room, for 100 tenants. */
export function measureLeaderLoss(): Promise<Spread> {
  return withQuotaCluster({ controllers: true, standby: true }, async (cluster) => {
    const names = Array.from({ length: TENANTS }, (_, at) => `left-${at}`);
    await forEach(names, AT_ONCE, async (name) => {
      await cluster.namespace(name, name);
      await cluster.limit(name, { pods: '1' });
      await until(async () => (await createPod(cluster, name, 'first')).status === 201, 100);
    });
    await until(() => areUsing(cluster, 'TenantQuota', new Set(names), '1'), 100);
    cluster.replicas[0]?.signal('SIGKILL');
    const lost = performance.now();
    await forEach(names, AT_ONCE, (name) =>
      cluster.kubernetes.admit('DELETE', `${podsIn(name)}/first?gracePeriodSeconds=0`),
    );
    const waited: number[] = [];
    await Promise.all(
      names.map(async (name) => {
        await until(async () => (await createPod(cluster, name, 'second')).status === 201, 1_000);
        waited.push((performance.now() - lost) / 1_000);
      }),
    );
    return spreadOf(waited);
  });
}

/** @param interval milliseconds between two looks */
async function until(look: () => Promise<boolean>, interval: number): Promise<void> {
  while (!(await look())) await pause(interval);
}
