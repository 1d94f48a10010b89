/** Cases beyond `test/e2e/kubernetes-quota.test.ts`, which asks a real kube-apiserver. */
import t, { type Test } from 'tap';
import { Informers } from '../../../../src/kubernetes/informers.ts';
import { KINDS } from '../../../../src/kubernetes/kubernetes-object.ts';
import { ONE } from '../../../../src/kubernetes/quantity.ts';
import { createNamespaceQuotas } from '../../../../src/kubernetes/resource-quota/namespace-quotas.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';
import { scriptedResource } from '../../../support/scripted-resource.ts';

const PLACE = { namespace: 'web' };
const status = { hard: { pods: '3', cpu: '4', services: '1' }, used: { pods: '3', cpu: '3500m' } };

function quotaNamed(name: string, fields: object = {}) {
  return {
    kind: 'ResourceQuota',
    metadata: { name, ...PLACE, resourceVersion: '5' },
    spec: {},
    status,
    ...fields,
  };
}

/** The check, once the informer has listed the ResourceQuotas, which the API server returns too. */
async function setUp(t: Test, ...listed: readonly ReturnType<typeof quotaNamed>[]) {
  const objects = createMemoryObjects();
  for (const quota of listed) objects.put(KINDS.ResourceQuota, PLACE, quota);
  const resource = scriptedResource();
  resource.listWith({ items: listed });
  const clock = createFakeClock();
  const informers = new Informers({
    name: 'resource-quotas',
    upstream: resource.upstream,
    clock,
    random: { bytes: (size: number) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  t.teardown(() => informers.stop());
  const quotas = createNamespaceQuotas({ informers, objects, clock, everywhere: {} });
  informers.start();
  await eventually(() => informers.provenAt('resourcequotas') !== undefined);
  const refusal = (asked: Readonly<Record<string, bigint>>, missing: readonly string[] = []) => {
    const after = new Map(Object.entries(asked).map(([name, amount]) => [name, amount * ONE]));
    const use = { before: new Map(), after, missing: () => missing };
    return quotas.refusal({ metadata: { name: 'a', ...PLACE } }, use);
  };
  return { objects, clock, refusal };
}

t.test('what a ResourceQuota would refuse is refused in its words', async (t) => {
  const { refusal } = await setUp(t, quotaNamed('compute'));
  t.equal(
    await refusal({ pods: 1n, cpu: 1n }),
    'exceeded quota: compute, requested: cpu=1,pods=1, used: cpu=3500m,pods=3, limited: cpu=4,pods=3',
  );
  t.equal(await refusal({ pods: 0n }, ['cpu for: a']), 'failed quota: compute: must specify cpu for: a');
  t.equal(await refusal({ services: 2n }), undefined, 'what is not counted yet is left to the API server');
});

t.test('a ResourceQuota is read again only before it refuses, at most once a second', async (t) => {
  const { objects, clock, refusal } = await setUp(t, quotaNamed('compute'));
  const raised = { hard: { pods: '9' }, used: { pods: '3' } };
  objects.put(KINDS.ResourceQuota, PLACE, quotaNamed('compute', { status: raised }));
  let reads = 0;
  objects.before = () => {
    reads += 1;
  };
  t.equal(await refusal({ cpu: 0n }), undefined);
  t.equal(reads, 0);
  t.equal(await refusal({ pods: 1n }), undefined);
  t.equal(await refusal({ pods: 1n }), undefined);
  t.equal(reads, 1);
  clock.advance(1_000);
  objects.drop(KINDS.ResourceQuota, PLACE, 'compute');
  t.equal(await refusal({ pods: 1n }), undefined, 'it was deleted');
  t.equal(reads, 2);
});

t.test('each ResourceQuota of a namespace may refuse, whatever the others allow', async (t) => {
  const { objects, refusal } = await setUp(t, quotaNamed('raised'), quotaNamed('full'));
  objects.put(KINDS.ResourceQuota, PLACE, quotaNamed('raised', { status: { hard: { pods: '9' } } }));
  t.match(await refusal({ pods: 1n }), /^exceeded quota: full,/);
});

t.test('a ResourceQuota with scopes is left to the API server', async (t) => {
  for (const spec of [{ scopes: ['BestEffort'] }, { scopeSelector: { matchExpressions: [] } }]) {
    const { refusal } = await setUp(t, quotaNamed('scoped', { spec }));
    t.equal(await refusal({ pods: 1n }), undefined);
  }
});
