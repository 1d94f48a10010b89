import t from 'tap';
import { storedBinding } from '../../../../src/features/bindings/managed-object.ts';
import type { KubernetesObject } from '../../../../src/kubernetes/kubernetes-object.ts';
import type { Plan } from '../../../../src/kubernetes/reconcile/plan.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/memory-cluster.ts';
import {
  alice,
  asUsers,
  bindingRules,
  carryOut,
  onWeb,
  planFor,
  smallKeystone,
  web,
} from '../../../support/provisioning.ts';

const shared = { mode: 'shared' } as const;

/** Which role is bound to which subject, by namespace; `*` stands for a whole tenant. */
function bound(cluster: MemoryCluster): string[] {
  return [...cluster.objects.values()]
    .flatMap(({ object, place }) =>
      'roleRef' in object
        ? storedBinding(object).subjects.map(
            ({ name }) => `${place.namespace ?? '*'}: ${storedBinding(object).roleRef.name} to ${name}`,
          )
        : [],
    )
    .sort();
}

async function synchronised(...args: Parameters<typeof planFor> extends [unknown, ...infer R] ? R : never) {
  const cluster = createMemoryCluster();
  await carryOut(cluster, await planFor(cluster, ...args));
  return cluster;
}

const refusalsOf = ({ refusals }: Plan) => refusals.map(({ subject, reason }) => `${subject}: ${reason}`);

function namespace(name: string, labels: Record<string, string> = {}): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

t.test(
  'a Role that the operator maintains in each namespace is bound there, also for roles on the domain',
  async (t) => {
    const rules = bindingRules({ roles: { ops: { role: 'operators' } } });
    const holders = { kind: 'groups', roleNames: ['ops'] } as const;
    t.same(bound(await synchronised(smallKeystone({ holders }), { rules })), [
      '*: stonegate:basic-user to system:authenticated',
      'p-web: operators to keystone:domain:d-acme:role:ops',
      'p-web: operators to keystone:project:p-web:role:ops',
    ]);
  },
);

t.test(
  'the rules of a project override those of its domain, and these the general ones; ignored roles are not bound',
  async (t) => {
    const rules = bindingRules({
      projects: { 'p-web': { roles: { member: 'a' } } },
      domains: { 'd-acme': { roles: { member: 'b', reader: 'c' } } },
      ignore: { roles: ['admin'] },
    });
    const cluster = await synchronised(smallKeystone(), { ...shared, rules });
    t.same(
      bound(cluster).filter((one) => one.includes('keystone:project')),
      ['p-web: a to keystone:project:p-web:role:member', 'p-web: c to keystone:project:p-web:role:reader'],
    );
  },
);

t.test('an ignored project keeps what it has and gets nothing new', async (t) => {
  const cluster = await synchronised(smallKeystone(), shared);
  for (const ignored of [
    { projects: { 'p-web': { ignore: true } } },
    { ignore: { projectNames: ['web'] } },
    { domains: { 'd-acme': { ignore: true } } },
  ]) {
    const plan = await planFor(cluster, smallKeystone(), { ...shared, rules: bindingRules(ignored) });
    t.same(plan.changes, []);
  }
  const fresh = createMemoryCluster();
  const rules = bindingRules({ ignore: { projectNames: ['web'] } });
  t.notOk(
    (await planFor(fresh, smallKeystone(), { ...shared, rules })).changes.some(
      ({ object }) => object.kind !== 'ClusterRole',
    ),
  );
});

t.test(
  'C239 a user who has lost an assignment loses the binding, with or without a further request',
  async (t) => {
    const holders = asUsers([onWeb('member'), onWeb('reader')]);
    const cluster = await synchronised(smallKeystone({ holders }), shared);
    t.equal(bound(cluster).length, 2);
    const left = smallKeystone({
      holders: asUsers([onWeb('member', { ...alice, id: 'u-bob', name: 'bob' })]),
    });
    await carryOut(cluster, await planFor(cluster, left, shared));
    t.same(bound(cluster), ['p-web: stonegate:edit to acme:bob@d-acme']);
  },
);

t.test('a user who may not log in, or is ignored, has no binding', async (t) => {
  const disabled = smallKeystone({ holders: asUsers([onWeb('member')], [alice.id]) });
  t.same(bound(await synchronised(disabled, shared)), []);
  const rules = bindingRules({ ignore: { users: [alice.id] } });
  const held = smallKeystone({ holders: asUsers([onWeb('member')]) });
  t.same(bound(await synchronised(held, { ...shared, rules })), []);
});

t.test(
  'a user whose name cannot be used in the cluster is refused, and the refusal says who it is',
  async (t) => {
    const holders = asUsers([onWeb('member', { ...alice, name: ' ' })]);
    const plan = await planFor(createMemoryCluster(), smallKeystone({ holders }), shared);
    t.match(refusalsOf(plan), [/^user {3}\(u-alice\): the user name is empty/]);
  },
);

t.test('a project that is renamed keeps its namespace', async (t) => {
  const rules = bindingRules({ namespaceFormat: '%n' });
  const cluster = await synchronised(smallKeystone(), { ...shared, rules });
  for (const name of ['shop', 'My Shop']) {
    const projects = [{ ...web, name }];
    const plan = await planFor(cluster, smallKeystone({ projects }), { ...shared, rules });
    t.same(refusalsOf(plan), []);
    t.ok(plan.changes.every(({ action, place }) => action === 'update' && place.namespace === 'web'));
  }
});

t.test('a namespace that is being deleted is left alone', async (t) => {
  const cluster = await synchronised(smallKeystone(), shared);
  const found = cluster.objects.get('Namespace///p-web');
  if (found === undefined) throw new Error('no namespace');
  const metadata = { ...found.object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  cluster.put({ ...namespace('p-web'), metadata }, {});
  t.match(refusalsOf(await planFor(cluster, smallKeystone(), shared)), [/is being deleted/]);
});

t.test('arktos: a tenant that was created for another domain is not used', async (t) => {
  const cluster = createMemoryCluster();
  const labels = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/domain-id': 'former' };
  cluster.put(
    { apiVersion: 'v1', kind: 'Tenant', metadata: { name: 'acme', labels }, spec: { storageClusterId: '0' } },
    {},
  );
  const plan = await planFor(cluster, smallKeystone());
  t.match(refusalsOf(plan), [/domain acme .*tenant acme was created for another domain/]);
  t.same(plan.changes, []);
});

t.test('a binding with another role is replaced; one with other subjects is corrected', async (t) => {
  const cluster = await synchronised(smallKeystone(), shared);
  const rules = bindingRules({
    roles: { member: 'own-editors', reader: 'stonegate:read', admin: 'stonegate:manage' },
  });
  const plan = await planFor(cluster, smallKeystone(), { ...shared, rules });
  t.same(
    plan.changes.map(({ action }) => action),
    ['update', 'update'],
  );
  t.match(await carryOut(cluster, plan, false), { failures: { length: 0 }, heldBack: { length: 0 } });
  t.same((await planFor(cluster, smallKeystone(), { ...shared, rules })).changes, []);
});

/** One of the bindings, changed by another client. */
async function changedBinding(metadata: object) {
  const cluster = await synchronised(smallKeystone(), shared);
  const [found] = [...cluster.objects.values()].filter(({ object }) => 'roleRef' in object);
  if (found === undefined) throw new Error('nothing is bound');
  cluster.put({ ...found.object, metadata: { ...found.object.metadata, ...metadata } }, found.place);
  return planFor(cluster, smallKeystone(), shared);
}

t.test('a copy of a binding under another name belongs to its creator and is not changed', async (t) => {
  t.same((await changedBinding({ name: 'mine' })).changes, []);
});

t.test('a binding that has lost its labels is found by its name', async (t) => {
  t.match((await changedBinding({ labels: {} })).changes, [
    { action: 'update', object: { metadata: { labels: { 'stonegate.dev/managed-by': 'stonegate' } } } },
  ]);
});

t.test('ids that cannot be a label value are distinguished by their digest', async (t) => {
  const ids = ['x'.repeat(64), '_', '.'];
  const projects = ids.map((id, at) => ({ ...web, id, name: `p${at}` }));
  const rules = bindingRules({ namespaceFormat: '%n' });
  const cluster = await synchronised(smallKeystone({ projects }), { ...shared, rules });
  const labels = [...cluster.objects.values()]
    .filter(({ object }) => object.kind === 'Namespace')
    .map(({ object }) => object.metadata.labels?.['stonegate.dev/project-id'] ?? '');
  t.equal(new Set(labels).size, 3);
  t.ok(labels.every((label) => /^[A-Za-z0-9][A-Za-z0-9_.-]{0,61}[A-Za-z0-9]$/.test(label)));
});

t.test('no plan is made from a Keystone that lists nothing', async (t) => {
  const cluster = createMemoryCluster();
  for (const empty of [
    { domains: [] },
    { holders: { kind: 'groups', roleNames: [] } as const },
    { holders: asUsers([]) },
  ])
    await t.rejects(planFor(cluster, smallKeystone(empty), shared), { code: 'KeystoneUnavailable' });
});
