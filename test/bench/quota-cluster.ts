/**
 * A real kube-apiserver whose tenants' pods Stonegate counts, with Stonegate as a process of its own that
 * serves the admission webhook. ResourceQuotas are counted by kube-controller-manager as usual.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Reply } from '../support/https-client.ts';
import type { KubernetesOptions } from '../support/kubernetes/api-server.ts';
import {
  type PreparedQuotaSite,
  prepareQuotaSite,
  QUOTAS,
  register,
} from '../support/kubernetes/quota-site.ts';
import { type ServingStonegate, serveConfiguration } from './contenders/stonegate.ts';
import { TWO_CORES } from './processes.ts';

export interface QuotaCluster extends PreparedQuotaSite {
  readonly serving: ServingStonegate;
}

/** No quota of the benchmark is reached unless it is to be. */
export const PLENTY = { pods: '1000000' };

/**
 * @param prepare is called before Stonegate starts
 * @returns what `use` returns, when everything has ended
 */
export async function withQuotaCluster<T>(
  options: KubernetesOptions,
  use: (cluster: QuotaCluster) => Promise<T>,
  prepare: (site: PreparedQuotaSite) => Promise<void> = async () => {},
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-bench-quota-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const life = { testdir: () => folder, teardown: (end: () => unknown) => void ends.push(end) };
  try {
    const site = await prepareQuotaSite(life, { ...options, quota: { default: PLENTY } });
    ends.push(() => site.testbed.close());
    await prepare(site);
    const serving = await serveConfiguration(site.testbed.configFile, { core: TWO_CORES });
    ends.push(() => serving.stop());
    await register(site.kubernetes, site.webhook);
    return await use({ ...site, serving });
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

export const podsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

export function createPod(site: PreparedQuotaSite, namespace: string, name: string): Promise<Reply> {
  const pod = { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  return site.send('POST', podsIn(namespace), pod);
}

interface CountedQuota {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly hard: Readonly<Record<string, string>> };
  readonly status?: {
    readonly used?: Readonly<Record<string, string>>;
    readonly ledger?: string;
  };
}

/** Whether each quota of these names says that this many pods are used, and nothing is reserved. */
export async function areUsing(
  site: PreparedQuotaSite,
  kind: 'TenantQuota' | 'ResourceQuota',
  names: ReadonlySet<string>,
  pods: string,
): Promise<boolean> {
  const path = kind === 'TenantQuota' ? QUOTAS : '/api/v1/resourcequotas';
  const { items }: { items: readonly CountedQuota[] } = JSON.parse((await site.send('GET', path)).body);
  const settled = items.filter(
    ({ metadata, status: { used, ledger = '' } = {} }) =>
      names.has(metadata.name) && used?.pods === pods && ledger === '',
  );
  return settled.length === names.size;
}

/** Does it for each, this many at a time. */
export async function forEach<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}
