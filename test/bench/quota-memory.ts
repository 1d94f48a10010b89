/** Memory of a process that counts many tenants, and the time until all are counted. */
import { setTimeout as pause } from 'node:timers/promises';
import type { PreparedQuotaSite } from '../support/kubernetes/quota-site.ts';
import { QUOTAS } from '../support/kubernetes/quota-site.ts';
import { areUsing, forEach, PLENTY, withQuotaCluster } from './quota-cluster.ts';
import { residentBytes } from './usage.ts';

export interface QuotaMemoryRow {
  readonly tenants: number;
  /** From the start of Stonegate until each tenant has been counted and written. */
  readonly countedSeconds: number;
  readonly residentMB: number;
}

const SEEDED_AT_ONCE = 32;
const SETTLE_MS = 15_000;

/** One namespace and one TenantQuota for each tenant, both there before Stonegate starts. */
export function measureQuotaMemory(tenants: number): Promise<QuotaMemoryRow> {
  const names = Array.from({ length: tenants }, (_, at) => `tenant-${at}`);
  let began = 0;
  const prepare = async (site: PreparedQuotaSite) => {
    await forEach(names, SEEDED_AT_ONCE, async (name) => {
      await site.namespace(name, name);
      await site.kubernetes.create(QUOTAS, {
        apiVersion: 'tenancy.stonegate.dev/v1alpha1',
        kind: 'TenantQuota',
        metadata: { name },
        spec: { hard: PLENTY },
      });
    });
    began = performance.now();
  };
  return withQuotaCluster({ prepare }, async (cluster) => {
    const all = new Set(names);
    while (!(await areUsing(cluster, 'TenantQuota', all, '0'))) await pause(1_000);
    const countedSeconds = (performance.now() - began) / 1_000;
    await pause(SETTLE_MS);
    const [serving] = cluster.replicas;
    return { tenants, countedSeconds, residentMB: residentBytes(serving?.pid ?? 0) / 1e6 };
  });
}
