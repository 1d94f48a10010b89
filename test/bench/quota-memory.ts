/** Memory of a process that counts many tenants, size of its metrics, and time until all are counted. */
import { setTimeout as pause } from 'node:timers/promises';
import type { PreparedQuotaSite } from '../support/kubernetes/quota-site.ts';
import { QUOTAS } from '../support/kubernetes/quota-site.ts';
import { areUsing, forEach, PLENTY, withQuotaCluster } from './quota-cluster.ts';
import { cpuSeconds, residentBytes } from './usage.ts';

export interface QuotaMemoryRow {
  readonly tenants: number;
  /** From the start of Stonegate until each tenant has been counted and written. */
  readonly countedSeconds: number;
  /** Stonegate's, until then. */
  readonly cpuSeconds: number;
  readonly residentMB: number;
  readonly heapMB: number;
  readonly scrapeKB: number;
}

const SEEDED_AT_ONCE = 32;
const SETTLE_MS = 15_000;

/** One namespace and one TenantQuota for each tenant, both there before Stonegate starts. */
export function measureQuotaMemory(tenants: number): Promise<QuotaMemoryRow> {
  const names = Array.from({ length: tenants }, (_, at) => `tenant-${at}`);
  let began = 0;
  const seed = async (site: PreparedQuotaSite) => {
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
  return withQuotaCluster(
    {},
    async (cluster) => {
      const { pid, adminPort } = cluster.serving;
      const all = new Set(names);
      while (!(await areUsing(cluster, 'TenantQuota', all, '0'))) await pause(1_000);
      const counted = { countedSeconds: (performance.now() - began) / 1_000, cpuSeconds: cpuSeconds(pid) };
      await pause(SETTLE_MS);
      const scrape = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
      const heap = /^nodejs_heap_size_used_bytes (\S+)/m.exec(scrape)?.[1];
      return {
        tenants,
        ...counted,
        residentMB: residentBytes(pid) / 1e6,
        heapMB: Number(heap) / 1e6,
        scrapeKB: Buffer.byteLength(scrape) / 1e3,
      };
    },
    seed,
  );
}
