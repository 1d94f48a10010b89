/** Quotas of tenants at a real kube-apiserver: creates per second, waits, and memory with many tenants. */
import { missingControllers } from '../support/kubernetes/programs.ts';
import { withQuotaCluster } from './quota-cluster.ts';
import { type CreatesRow, compareCreates } from './quota-creates.ts';
import { measureQuotaMemory, type QuotaMemoryRow } from './quota-memory.ts';
import { measureWaits, type QuotaWaits } from './quota-waits.ts';
import { print } from './report.ts';
import { verdict } from './verdicts.ts';

interface QuotaFigures {
  readonly creates: readonly CreatesRow[];
  readonly waits: QuotaWaits;
  readonly memory: readonly QuotaMemoryRow[];
}

const ROUNDS = 6;
const AT_LEAST = 0.8;

export async function playQuota(): Promise<QuotaFigures> {
  const missing = missingControllers();
  if (missing !== false) throw new Error(missing);
  const atWork = await withQuotaCluster({ controllers: true, quotaSync: '5m' }, async (cluster) => {
    const creates = [await compareCreates(cluster, 1, ROUNDS), await compareCreates(cluster, 100, ROUNDS)];
    print('Creates per second by 16 clients (least, median and most of the rounds)', creates, [
      ...(['tenants', 'ResourceQuota/s', 'TenantQuota/s'] as const),
      ...(['ratio', 'ResourceQuota CPU µs'] as const),
      ...(['TenantQuota CPU µs', 'Stonegate CPU µs', 'refused'] as const),
    ]);
    for (const { tenants, ratio } of creates) {
      const what = `${ratio.median.toFixed(2)} of ResourceQuota's, at least ${AT_LEAST} wanted, tenants: ${tenants}`;
      console.log(verdict(ratio.median >= AT_LEAST, what));
    }
    const waits = await measureWaits(cluster);
    console.log(`\nWaits\n\n${JSON.stringify(waits, null, 2)}`);
    return { creates, waits };
  });
  const memory = [await measureQuotaMemory(1), await measureQuotaMemory(10_000)];
  print('Many tenants', memory, ['tenants', 'countedSeconds', 'residentMB']);
  return { ...atWork, memory };
}
