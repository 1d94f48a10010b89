/**
 * A real kube-apiserver whose tenants' pods Stonegate counts, with Stonegate as a process of its own that
 * serves the admission webhook. ResourceQuotas are counted by kube-controller-manager as usual.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { freePort } from '../support/free-port.ts';
import type { Reply } from '../support/https-client.ts';
import type { KubernetesOptions } from '../support/kubernetes/api-server.ts';
import {
  configureSecond,
  type PreparedQuotaSite,
  prepareQuotaSite,
  QUOTAS,
  register,
  type Webhook,
} from '../support/kubernetes/quota-site.ts';
import { type ServingStonegate, serveConfiguration } from './contenders/stonegate.ts';
import { TWO_CORES } from './processes.ts';

export interface QuotaCluster extends PreparedQuotaSite {
  /** The first counts. It reviews too, unless the second is a standby. */
  readonly replicas: readonly ServingStonegate[];
}

/** No quota of the benchmark is reached unless it is to be. */
export const PLENTY = { pods: '1000000' };

interface QuotaClusterOptions extends KubernetesOptions {
  /** With 2, each process reviews every other pod, as behind a balancer that picks one for each review. */
  readonly replicas?: 1 | 2;
  /** The second process can count too, and reviews all: it goes on when the first, the leader, is lost. */
  readonly standby?: boolean;
  /** Called before Stonegate starts. */
  readonly prepare?: (site: PreparedQuotaSite) => Promise<void>;
}

/** @returns what `use` returns, when everything has ended */
export async function withQuotaCluster<T>(
  { replicas: count = 1, standby = false, prepare, ...options }: QuotaClusterOptions,
  use: (cluster: QuotaCluster) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-bench-quota-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const testdir = (files: Readonly<Record<string, string>> = {}) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return folder;
  };
  const life = { testdir, teardown: (end: () => unknown) => void ends.push(end) };
  try {
    const quota = { default: PLENTY };
    const site = await prepareQuotaSite(life, { ...options, quota });
    ends.push(() => site.testbed.close());
    await prepare?.(site);
    const replicas: ServingStonegate[] = [];
    const serve = async (configFile: string, only?: 'admission') => {
      const serving = await serveConfiguration(configFile, { core: TWO_CORES, ...(only && { only }) });
      ends.push(() => serving.stop());
      replicas.push(serving);
    };
    await serve(site.testbed.configFile);
    if (standby) {
      const second = await configureStandby(site.webhook);
      await serve(second.configFile);
      await register(site.kubernetes, second);
    } else if (count === 1) await register(site.kubernetes, site.webhook);
    else {
      const second = await configureSecond(life, site.kubernetes, quota);
      await serve(second.configFile, 'admission');
      await register(site.kubernetes, site.webhook, '0');
      await register(site.kubernetes, second, '1');
    }
    return await use({ ...site, replicas });
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** The same configuration with other ports. */
async function configureStandby(webhook: Webhook): Promise<Webhook> {
  const port = await freePort();
  const { admission, ...configuration } = parse(readFileSync(webhook.configFile, 'utf8'));
  const configFile = join(dirname(webhook.configFile), 'standby.yaml');
  const bind = `127.0.0.1:${port}`;
  writeFileSync(configFile, stringify({ ...configuration, admission: { ...admission, bind } }));
  return { ...webhook, configFile, port };
}

export const podsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

/** @param replica that reviews it, if there are two */
export function createPod(
  site: PreparedQuotaSite,
  namespace: string,
  name: string,
  replica: 0 | 1 = 0,
): Promise<Reply> {
  const pod = {
    metadata: { name, labels: { replica: String(replica) } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
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
