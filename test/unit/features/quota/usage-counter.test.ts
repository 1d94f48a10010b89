import t from 'tap';
import { readTenantQuota, TENANT_QUOTAS } from '../../../../src/features/quota/tenant-quota-v1alpha1.ts';
import { UsageCounter } from '../../../../src/features/quota/usage-counter.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';
import { scriptedResource } from '../../../support/scripted-resource.ts';

const PLACE = { namespace: 'stonegate' };
const reservation = (uid: string) => ({ uid, usage: { pods: '1' } });

t.test('stored objects are counted in one run, however often replicas reserve in the meantime', async (t) => {
  const objects = createMemoryObjects();
  const reserve = (...uids: string[]) => {
    const status = { used: { pods: '0' }, reservations: uids.map(reservation) };
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
    tenantquotas: [reserve('a/web/a')],
    namespaces: [{ metadata }],
    pods: [pod],
  };
  const { upstream } = scriptedResource();
  const counter = new UsageCounter({
    upstream: {
      async fetch({ target }) {
        const [, resource = ''] = /\/(\w+)\?/.exec(target) ?? [];
        const list = { kind: 'List', metadata: { resourceVersion: '10' }, items: items[resource] ?? [] };
        return { status: 200, headers: [], body: Buffer.from(JSON.stringify(list)) };
      },
      stream: upstream.stream,
    },
    objects,
    place: PLACE,
    systemTenant: undefined,
    count: [],
    onChange() {},
    onRepair() {},
    clock: createFakeClock(1_000_000),
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  t.teardown(() => counter.stop());
  counter.start();
  await eventually(() => counter.isComplete);
  let admitted = 0;
  objects.before = (verb) => {
    if (verb !== 'updateStatus' || admitted === 3) return;
    admitted += 1;
    reserve('a/web/a', ...['b', 'c', 'd'].slice(0, admitted));
  };
  t.same(await counter.write(new AbortController().signal), []);
  const stored = objects.find(TENANT_QUOTAS, PLACE, 'acme');
  t.match(stored && readTenantQuota(stored)?.status, {
    used: { pods: '1' },
    reservations: ['b', 'c', 'd'].map(reservation),
  });
});
