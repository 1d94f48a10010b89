import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { StoredObject } from '../../../../src/kubernetes/kubernetes-object.ts';
import type { Plan } from '../../../../src/kubernetes/reconcile/plan.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/memory-cluster.ts';
import { carryOut, planFor, podLimits, smallKeystone, web } from '../../../support/provisioning.ts';

const IN_WEB = { namespace: 'p-web' };
const QUOTA = 'ResourceQuota//p-web/stonegate-project';

async function run(
  cluster: MemoryCluster,
  readLimits = podLimits('10'),
  keystone = smallKeystone(),
): Promise<Plan> {
  const plan = await planFor(cluster, keystone, { mode: 'shared', readLimits });
  await carryOut(cluster, plan);
  return plan;
}

function quotaIn({ objects }: MemoryCluster): StoredObject {
  const quota = objects.get(QUOTA)?.object;
  if (quota === undefined) throw new Error('no quota');
  return quota;
}

t.test("a project's namespace has a quota before anyone has rights in it", async (t) => {
  const cluster = createMemoryCluster();
  await run(cluster);
  t.match(quotaIn(cluster), {
    metadata: { labels: { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/project-id': 'p-web' } },
    spec: { hard: { pods: '10' } },
  });
  const order = cluster.writes.map((write) => write.split(' ')[1]);
  t.ok(order.indexOf('resourcequotas') < order.indexOf('rolebindings'), order.join());
  t.same((await run(cluster)).changes, [], 'nothing is left to do');
});

t.test('D232 while limits are unknown, nothing is created without them', async (t) => {
  const cluster = createMemoryCluster();
  await run(cluster);
  const unread = async () => {
    throw new StatusError('KeystoneUnavailable', 'Keystone cannot be asked');
  };
  await t.rejects(run(cluster, unread), { code: 'KeystoneUnavailable' });
  await t.rejects(run(createMemoryCluster(), unread), { code: 'KeystoneUnavailable' });
  t.match(quotaIn(cluster), { spec: { hard: { pods: '10' } } });
});

t.test('the quota of a project that is disabled or gone stays', async (t) => {
  const cluster = createMemoryCluster();
  await run(cluster);
  for (const projects of [[{ ...web, enabled: false }], []]) {
    await run(cluster, podLimits('20'), smallKeystone({ projects }));
    t.match(quotaIn(cluster), { spec: { hard: { pods: '10' } } });
  }
});

t.test('a quota of that name that another client created is corrected', async (t) => {
  const cluster = createMemoryCluster();
  const theirs = { metadata: { name: 'stonegate-project', ...IN_WEB }, spec: { hard: { pods: '99' } } };
  cluster.put({ apiVersion: 'v1', kind: 'ResourceQuota', ...theirs }, IN_WEB);
  await run(cluster);
  t.match(quotaIn(cluster), {
    metadata: { labels: { 'stonegate.dev/managed-by': 'stonegate' } },
    spec: { hard: { pods: '10' } },
  });
});
