import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { KeystoneState } from '../../../../src/features/bindings/desired-state.ts';
import { applyPlan } from '../../../../src/kubernetes/reconcile/apply.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/memory-cluster.ts';
import {
  alice,
  asUsers,
  carryOut,
  onWeb,
  planFor,
  smallKeystone,
  web,
} from '../../../support/provisioning.ts';

const shared = { mode: 'shared' } as const;

const bindingsIn = (cluster: MemoryCluster) =>
  [...cluster.objects.values()].filter(({ object }) => object.kind === 'RoleBinding');

async function provisioned(keystone: KeystoneState) {
  const cluster = createMemoryCluster();
  await carryOut(cluster, await planFor(cluster, keystone, shared));
  return cluster;
}

function foreignNamespace() {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: web.id } };
}

/** Runs `step` once, before the first call of this verb on this kind. */
function once(cluster: MemoryCluster, verb: string, kind: string, step: () => void) {
  cluster.before = (called, reference) => {
    if (called !== verb || reference.kind !== kind) return;
    cluster.before = () => {};
    step();
  };
}

t.test(
  'a namespace that another client created after the plan is not changed, and no user is bound in it',
  async (t) => {
    const cluster = createMemoryCluster();
    const plan = await planFor(cluster, smallKeystone(), shared);
    cluster.put(foreignNamespace(), {});
    const { failures } = await carryOut(cluster, plan);
    t.match(failures[0], {
      change: { object: { kind: 'Namespace' } },
      reason: /it is there, but Stonegate did not create it/,
    });
    t.equal(bindingsIn(cluster).length, 0);
  },
);

t.test('in a namespace that is replaced while users are being bound, no further user is bound', async (t) => {
  const cluster = createMemoryCluster();
  const plan = await planFor(cluster, smallKeystone(), shared);
  once(cluster, 'create', 'RoleBinding', () => {
    cluster.drop({ kind: 'Namespace', name: web.id });
    cluster.put(foreignNamespace(), {});
  });
  const { failures, done } = await carryOut(cluster, plan);
  t.match(failures.at(-1), { reason: /was not created by Stonegate for it/ });
  t.ok(
    done.filter(({ object }) => object.kind === 'RoleBinding').length <= 4,
    'only those that had begun before',
  );
  const next = await planFor(cluster, smallKeystone(), shared);
  await carryOut(cluster, next);
  t.equal(bindingsIn(cluster).length, 0);
});

t.test('in a namespace that is being deleted, no user is bound', async (t) => {
  const cluster = await provisioned(smallKeystone({ holders: { kind: 'groups', roleNames: ['x'] } }));
  const plan = await planFor(cluster, smallKeystone(), shared);
  const found = cluster.objects.get(`Namespace///${web.id}`);
  if (found === undefined) throw new Error('no namespace');
  const metadata = { ...found.object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  cluster.put({ apiVersion: 'v1', kind: 'Namespace', metadata }, {});
  const { failures, done } = await carryOut(cluster, plan);
  t.same(done, []);
  t.match(failures[0], { reason: /is being deleted/ });
});

t.test('a concurrent change of a binding is respected', async (t) => {
  const cluster = await provisioned(smallKeystone());
  const [binding] = bindingsIn(cluster);
  if (binding === undefined || !('subjects' in binding.object)) throw new Error('nothing is bound');
  cluster.put({ ...binding.object, subjects: [] }, binding.place);
  const plan = await planFor(cluster, smallKeystone(), shared);
  once(cluster, 'update', 'RoleBinding', () => {
    const labels = { ...binding.object.metadata.labels, team: 'a' };
    cluster.put({ ...binding.object, metadata: { ...binding.object.metadata, labels } }, binding.place);
  });
  t.match(await carryOut(cluster, plan), { failures: [] });
  const key = `RoleBinding//${web.id}/${binding.object.metadata.name}`;
  t.match(cluster.objects.get(key)?.object, {
    metadata: { labels: { team: 'a' } },
    subjects: [{ kind: 'Group' }],
  });
});

t.test('a binding that another client keeps changing is reported as a failure', async (t) => {
  const cluster = await provisioned(smallKeystone());
  const plan = await planFor(cluster, smallKeystone({ projects: [{ ...web, enabled: false }] }), shared);
  cluster.before = (verb, reference) => {
    if (verb !== 'delete') return;
    const found = [...cluster.objects.values()].find(({ object }) => object.metadata.name === reference.name);
    if (found) cluster.put(found.object, found.place);
  };
  const { failures } = await carryOut(cluster, plan);
  t.equal(failures.length, plan.changes.length);
  t.match(failures[0], { reason: /another client keeps changing it/ });
});

/** The domains `acme` and `globex`, each with this number of projects. */
function twoTenants(count: number) {
  const domains = ['acme', 'globex'].map((name) => ({ id: `d-${name}`, name, enabled: true }));
  const projects = domains.flatMap(({ id: domainID, name }) =>
    Array.from({ length: count }, (_, at) => ({ ...web, id: `p-${name}-${at}`, name: `web${at}`, domainID })),
  );
  return smallKeystone({ domains, projects });
}

t.test('a failure in one tenant does not affect the others', async (t) => {
  const cluster = createMemoryCluster();
  const plan = await planFor(cluster, twoTenants(1));
  cluster.before = (verb, { tenant }) => {
    if (verb === 'create' && tenant === 'acme')
      throw new StatusError('ProvisioningForbidden', 'not allowed', { cause: new Error('by whom') });
  };
  const { failures } = await carryOut(cluster, plan);
  t.ok(failures.every(({ change }) => change.place.tenant === 'acme'));
  t.match(failures[0], { reason: 'not allowed: by whom' });
  t.ok(bindingsIn(cluster).every(({ place }) => place.tenant === 'globex'));
  t.equal(bindingsIn(cluster).length, 3);
});

t.test('if the API server does not respond for one tenant, the run continues for the others', async (t) => {
  const cluster = createMemoryCluster();
  const plan = await planFor(cluster, twoTenants(12));
  cluster.before = (verb, { tenant }) => {
    if (verb === 'create' && tenant === 'acme') throw new StatusError('UpstreamTimeout', 'no response');
  };
  const { failures } = await carryOut(cluster, plan);
  t.same([...new Set(failures.map(({ change }) => change.place.tenant))], ['acme']);
});

t.test('a programming error is not reported as a failure of the cluster', async (t) => {
  const cluster = createMemoryCluster();
  const plan = await planFor(cluster, smallKeystone(), shared);
  cluster.before = () => {
    throw new TypeError('a mistake');
  };
  await t.rejects(carryOut(cluster, plan), { message: 'a mistake' });
});

t.test('imitated bindings in one namespace do not delay removals in another', async (t) => {
  const users = Array.from({ length: 10 }, (_, at) => ({ ...alice, id: `u-${at}`, name: `user${at}` }));
  const keystoneOf = (members: typeof users) => {
    const holders = asUsers(members.map((user) => onWeb('member', user)));
    return smallKeystone({ projects: [web, { ...web, id: 'p-2', name: 'shop' }], holders });
  };
  const cluster = await provisioned(keystoneOf(users));
  t.equal(bindingsIn(cluster).length, 10);
  for (let at = 0; at < 40; at += 1) {
    const name = `stonegate-${at.toString(16).padStart(40, '0')}`;
    const labels = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/project-id': 'p-2' };
    cluster.put(
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name, namespace: 'p-2', labels },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'stonegate:read' },
        subjects: [],
      },
      { namespace: 'p-2' },
    );
  }
  const plan = await planFor(cluster, keystoneOf(users.slice(1)), shared);
  const { heldBack } = await carryOut(cluster, plan, false);
  t.equal(heldBack.length, 40);
  t.equal(bindingsIn(cluster).filter(({ place }) => place.namespace === web.id).length, 9);
});

t.test('after it is cancelled, no further change begins', async (t) => {
  const cluster = createMemoryCluster();
  const plan = await planFor(cluster, smallKeystone(), shared);
  const signal = AbortSignal.abort();
  const result = await applyPlan(plan, { objects: cluster, maxDeletedShare: 1, force: false, signal });
  t.same(result.done, []);
  t.same(cluster.writes, []);
});
