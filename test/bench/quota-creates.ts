/**
 * Pods created per second where a TenantQuota counts them, beside the same with Kubernetes' own
 * ResourceQuota: by turns at one kube-apiserver. After each turn its pods are deleted; the next one begins
 * when its quotas say so.
 */
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { areUsing, createPod, forEach, PLENTY, podsIn, type QuotaCluster } from './quota-cluster.ts';
import { type Spread, spreadOf } from './statistics.ts';
import { cpuSeconds } from './usage.ts';

export interface CreatesRow {
  readonly tenants: number;
  readonly replicas: number;
  readonly 'ResourceQuota/s': Spread;
  readonly 'TenantQuota/s': Spread;
  /** The second over the first, of each round. */
  readonly ratio: Spread;
  /** Of all servers, in microseconds. */
  readonly 'ResourceQuota CPU µs': Spread;
  readonly 'TenantQuota CPU µs': Spread;
  /** Answers other than 201, of all rounds. */
  readonly refused: number;
  /** Stonegate's part. */
  readonly 'Stonegate CPU µs': Spread;
}

const CLIENTS = 16;
const TURN_SECONDS = 4;

/** @param rounds one turn of each kind */
export async function compareCreates(
  cluster: QuotaCluster,
  tenants: number,
  rounds: number,
): Promise<CreatesRow> {
  const names = (kind: string) => Array.from({ length: tenants }, (_, at) => `${kind}-${tenants}-${at}`);
  const own: Contender = { kind: 'ResourceQuota', names: names('own') };
  const ours: Contender = { kind: 'TenantQuota', names: names('acme') };
  await forEach(own.names, CLIENTS, async (name) => {
    await cluster.kubernetes.create('/api/v1/namespaces', { metadata: { name } });
    const quota = { metadata: { name }, spec: { hard: PLENTY } };
    await cluster.kubernetes.create(`/api/v1/namespaces/${name}/resourcequotas`, quota);
  });
  await forEach(ours.names, CLIENTS, (name) => cluster.namespace(name, name));
  const order = [own, ours];
  for (const contender of order) await untilEmpty(cluster, contender);
  const turns: { own: Turn; ours: Turn }[] = [];
  // The first round only warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const turn = new Map<Contender, Turn>();
    for (const contender of order) turn.set(contender, await playTurn(cluster, contender));
    order.reverse();
    if (round > 0) turns.push({ own: turn.get(own) ?? NONE, ours: turn.get(ours) ?? NONE });
  }
  return {
    tenants,
    replicas: cluster.replicas.length,
    'ResourceQuota/s': spreadOf(turns.map(({ own }) => own.perSecond)),
    'TenantQuota/s': spreadOf(turns.map(({ ours }) => ours.perSecond)),
    ratio: spreadOf(turns.map(({ own, ours }) => ours.perSecond / own.perSecond)),
    'ResourceQuota CPU µs': spreadOf(turns.map(({ own }) => own.cpu)),
    'TenantQuota CPU µs': spreadOf(turns.map(({ ours }) => ours.cpu)),
    refused: turns.reduce((sum, { own, ours }) => sum + own.refused + ours.refused, 0),
    'Stonegate CPU µs': spreadOf(turns.map(({ ours }) => ours.stonegateCPU)),
  };
}

interface Contender {
  readonly kind: 'TenantQuota' | 'ResourceQuota';
  /** Of the namespaces, each of which has a quota of the same name. */
  readonly names: readonly string[];
}

interface Turn {
  readonly perSecond: number;
  readonly refused: number;
  /** Microseconds of all servers, and of Stonegate, for each create. */
  readonly cpu: number;
  readonly stonegateCPU: number;
}

const NONE: Turn = { perSecond: Number.NaN, refused: 0, cpu: Number.NaN, stonegateCPU: Number.NaN };

async function playTurn(cluster: QuotaCluster, contender: Contender): Promise<Turn> {
  const { names } = contender;
  let created = 0;
  let refused = 0;
  const usedBefore = cpuUsed(cluster);
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1_000;
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let at = client; elapsed() < TURN_SECONDS; at += CLIENTS) {
        const replica = (client + Math.floor(at / CLIENTS)) % 2 === 0 ? 0 : 1;
        const namespace = names[at % names.length] ?? '';
        const { status } = await createPod(cluster, namespace, `pod-${at}`, replica);
        if (status === 201) created += 1;
        else refused += 1;
      }
    }),
  );
  const perSecond = created / elapsed();
  const used = cpuUsed(cluster);
  const cpu = ((used.servers - usedBefore.servers) * 1e6) / created;
  const stonegateCPU = ((used.stonegate - usedBefore.stonegate) * 1e6) / created;
  await forEach(names, CLIENTS, (name) =>
    cluster.kubernetes.admit('DELETE', `${podsIn(name)}?gracePeriodSeconds=0`),
  );
  await untilEmpty(cluster, contender);
  return { perSecond, refused, cpu, stonegateCPU };
}

/** Seconds. All servers are children of this process, whose own work is the clients'. */
function cpuUsed({ replicas }: QuotaCluster) {
  const { user, system } = process.cpuUsage();
  return {
    servers: cpuSeconds(process.pid) - (user + system) / 1e6,
    stonegate: replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
  };
}

async function untilEmpty(cluster: QuotaCluster, { kind, names }: Contender): Promise<void> {
  const all = new Set(names);
  while (!(await areUsing(cluster, kind, all, '0'))) await pause(200);
}
