/** Quotas of tenants at a real kube-apiserver: creates per second, waits, and memory with many tenants. */
import { missingControllers } from '../support/kubernetes/programs.ts';
import { type QuotaCluster, withQuotaCluster } from './quota-cluster.ts';
import { type CreatesRow, compareCreates } from './quota-creates.ts';
import { measureQuotaMemory, type QuotaMemoryRow } from './quota-memory.ts';
import { measureLeaderLoss, measureWaits, type QuotaWaits } from './quota-waits.ts';
import { print } from './report.ts';
import type { Spread } from './statistics.ts';
import { verdict } from './verdicts.ts';

interface QuotaFigures {
  readonly creates: readonly CreatesRow[];
  readonly waits: QuotaWaits;
  /** Seconds until there is room again after the loss of the leader. */
  readonly leaderLost: Spread;
  readonly memory: readonly QuotaMemoryRow[];
}

const ROUNDS = 6;
const AT_LEAST = 0.6;

export async function playQuota(): Promise<QuotaFigures> {
  const missing = missingControllers();
  if (missing !== false) throw new Error(missing);
  const options = { controllers: true, quotaSync: '5m' };
  const compare = async (cluster: QuotaCluster): Promise<CreatesRow[]> => {
    const creates = [await compareCreates(cluster, 1, ROUNDS), await compareCreates(cluster, 100, ROUNDS)];
    print('Creates per second by 16 clients (least, median and most of the rounds)', creates, [
      ...(['tenants', 'replicas', 'ResourceQuota/s', 'TenantQuota/s'] as const),
      ...(['ratio', 'ResourceQuota CPU µs'] as const),
      ...(['TenantQuota CPU µs', 'Stonegate CPU µs', 'refused'] as const),
    ]);
    for (const { tenants, replicas, ratio } of creates) {
      const what = `${ratio.median.toFixed(2)} of ResourceQuota's, at least ${AT_LEAST} wanted, tenants: ${tenants}, replicas: ${replicas}`;
      console.log(verdict(ratio.median >= AT_LEAST, what));
    }
    return creates;
  };
  const one = await withQuotaCluster(options, async (cluster) => {
    const creates = await compare(cluster);
    const waits = await measureWaits(cluster);
    console.log(`\nWaits\n\n${JSON.stringify(waits, null, 2)}`);
    return { creates, waits };
  });
  const two = await withQuotaCluster({ ...options, replicas: 2 }, compare);
  const leaderLost = await measureLeaderLoss();
  console.log(`\nRoom again after the loss of the leader, seconds: ${JSON.stringify(leaderLost)}`);
  const memory = [await measureQuotaMemory(1), await measureQuotaMemory(10_000)];
  print('Many tenants', memory, ['tenants', 'countedSeconds', 'residentMB']);
  return { ...one, creates: [...one.creates, ...two], leaderLost, memory };
}
