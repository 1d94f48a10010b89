import t from 'tap';
import { createReservation, objectID } from '../../../../src/features/quota/reservation.ts';
import { StoredQuotas } from '../../../../src/features/quota/stored-quotas.ts';
import { readTenantQuota, TENANT_QUOTAS } from '../../../../src/features/quota/tenant-quota-v1alpha1.ts';
import { UsageCounter } from '../../../../src/features/quota/usage-counter.ts';
import { Informers } from '../../../../src/kubernetes/informers.ts';
import { ONE } from '../../../../src/kubernetes/quantity.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { TENANCY_FACTS } from '../../../../src/tenancy/facts.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';
import { scriptedResource } from '../../../support/scripted-resource.ts';

const PLACE = { namespace: 'stonegate' };
const lineOf = (name: string) =>
  createReservation({
    id: objectID('', 'web', name, name),
    ...{ mark: '1', revision: 0, object: { resource: 'pods', namespace: 'web', name } },
    ...{ usage: new Map([['pods', ONE]]), seen: new Map() },
  }).line;

t.test('stored objects are counted in one run, however often replicas reserve in the meantime', async (t) => {
  const objects = createMemoryObjects();
  const reserve = (...uids: string[]) => {
    const status = { used: { pods: '0' }, ledger: uids.map(lineOf).join('\n') };
    const quota = { apiVersion: 'v1', kind: 'TenantQuota', metadata: { name: 'acme' } };
    objects.put(TENANT_QUOTAS, PLACE, { ...quota, spec: { hard: { pods: '10' } }, status });
    return objects.find(TENANT_QUOTAS, PLACE, 'acme');
  };
  const metadata = {
    name: 'web',
    uid: 'n',
    resourceVersion: '5',
    labels: { 'stonegate.dev/tenant': 'acme' },
  };
  const pod = { metadata: { name: 'a', namespace: 'web', uid: 'a', resourceVersion: '6' }, spec: {} };
  const items: Readonly<Record<string, readonly unknown[]>> = {
    tenantquotas: [reserve('a')],
    namespaces: [{ metadata }],
    pods: [pod],
  };
  const { upstream } = scriptedResource();
  const runtime = {
    upstream: {
      async fetch({ target }: { readonly target: string }) {
        const [, resource = ''] = /\/(\w+)\?/.exec(target) ?? [];
        const list = { kind: 'List', metadata: { resourceVersion: '10' }, items: items[resource] ?? [] };
        return { status: 200, headers: [], body: Buffer.from(JSON.stringify(list)) };
      },
      stream: upstream.stream,
    },
    clock: createFakeClock(1_000_000),
    random: { bytes: (size: number) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: silentLogger,
    telemetry: noTelemetry,
  };
  const quotas = new StoredQuotas(runtime);
  const informers = new Informers({ ...runtime, name: 'tenant-quotas' });
  quotas.addTo(informers, PLACE, () => {});
  const counter = new UsageCounter({
    ...runtime,
    objects,
    quotas,
    place: PLACE,
    byDefault: {},
    tenancy: { facts: TENANCY_FACTS.shared, systemTenant: 'system' },
    count: [],
    onChange() {},
    onRepair() {},
  });
  t.teardown(() => Promise.all([counter.stop(), informers.stop()]));
  informers.start();
  counter.start();
  await eventually(() => counter.isComplete && counter.requested().length > 0);
  let admitted = 0;
  objects.before = (verb) => {
    if (verb !== 'updateStatus' || admitted === 3) return;
    admitted += 1;
    reserve('a', ...['b', 'c', 'd'].slice(0, admitted));
  };
  t.same(await counter.write(new AbortController().signal), []);
  const stored = objects.find(TENANT_QUOTAS, PLACE, 'acme');
  t.match(stored && readTenantQuota(stored)?.status, {
    used: { pods: '1' },
    ledger: ['b', 'c', 'd'].map(lineOf).join('\n'),
  });
});
