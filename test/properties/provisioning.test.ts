/**
 * For any state of Keystone and of the cluster, provisioning reaches a stable state, changes only its own
 * objects, and binds users only in namespaces that Stonegate created for the same project.
 */
import fc from 'fast-check';
import t from 'tap';
import { isManaged, labelValue, storedBinding } from '../../src/features/bindings/managed-object.ts';
import type { Place } from '../../src/kubernetes/kubernetes-object.ts';
import { heldBack } from '../../src/kubernetes/reconcile/deletion-guard.ts';
import { createMemoryCluster, type MemoryCluster } from '../support/memory-cluster.ts';
import { bindingRules, carryOut, type Mode, planFor } from '../support/provisioning.ts';
import { wildKeystone } from '../support/wild-keystone.ts';

const RUNS = { numRuns: 150 };
const rules = fc.record({
  namespaceFormat: fc.constantFrom('%i', '%n', 'p-%n', '%n-%d'),
  subjects: fc.constant('groups'),
  roles: fc.constantFrom(
    { admin: 'stonegate:manage', member: 'stonegate:edit', reader: 'stonegate:read' },
    { admin: 'stonegate:edit', ops: { role: 'operators' } },
  ),
  projects: fc.constantFrom({}, { 'p-0': { ignore: true } }, { 'p-1': { namespace: 'shop' } }),
});

const foreign = fc.array(
  fc.record({
    kind: fc.constantFrom('Namespace', 'RoleBinding', 'ClusterRoleBinding', 'ClusterRole', 'Tenant'),
    tenant: fc.constantFrom('acme', 'globex'),
    name: fc.constantFrom('web', 'shop', 'p-0', 'p-1', 'p-web', 'stonegate:read', 'u-1_member'),
    namespace: fc.constantFrom('web', 'shop', 'p-0', 'p-1'),
    /** As if created for this project; `somebody-else` is none of these. */
    labelledFor: fc.constantFrom(undefined, 'somebody-else'),
  }),
  { maxLength: 6 },
);
type Foreign = typeof foreign extends fc.Arbitrary<infer T> ? T : never;

function plant(cluster: MemoryCluster, mode: Mode, foreignObjects: Foreign): void {
  const rbac = 'rbac.authorization.k8s.io';
  for (const { kind, tenant, name: called, namespace, labelledFor } of foreignObjects) {
    const isNamespace = kind === 'Namespace';
    const labels: Record<string, string> =
      labelledFor !== undefined && isNamespace
        ? { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/project-id': labelledFor }
        : {};
    const metadata = { name: called, labels, ...(kind === 'RoleBinding' && { namespace }) };
    const inTenant: Place = mode === 'arktos' ? { tenant } : {};
    const bound = {
      apiVersion: `${rbac}/v1`,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'x' },
      subjects: [{ kind: 'User', name: 'x' }],
    } as const;
    if (kind === 'Namespace') cluster.put({ apiVersion: 'v1', kind, metadata }, inTenant);
    else if (kind === 'RoleBinding') cluster.put({ ...bound, kind, metadata }, { ...inTenant, namespace });
    else if (kind === 'ClusterRoleBinding') cluster.put({ ...bound, kind, metadata }, inTenant);
    else if (kind === 'ClusterRole')
      cluster.put({ apiVersion: `${rbac}/v1`, kind, metadata, rules: [] }, inTenant);
    else if (mode === 'arktos')
      cluster.put(
        { apiVersion: 'v1', kind: 'Tenant', metadata: { name: tenant }, spec: { storageClusterId: '7' } },
        {},
      );
  }
}

const state = (cluster: MemoryCluster) =>
  new Map([...cluster.objects].map(([key, { object }]) => [key, object.metadata.resourceVersion]));

t.test('after a plan was applied, the next plan is empty', async () => {
  await fc.assert(
    fc.asyncProperty(
      wildKeystone,
      wildKeystone,
      rules,
      foreign,
      fc.constantFrom<Mode>('arktos', 'shared'),
      async (first, then, configured, foreignObjects, mode) => {
        const cluster = createMemoryCluster();
        plant(cluster, mode, foreignObjects);
        for (const keystone of [first, then]) {
          const options = { mode, rules: bindingRules(configured) };
          const outcome = await carryOut(cluster, await planFor(cluster, keystone, options));
          if (outcome.failures.length > 0) throw new Error(JSON.stringify(outcome.failures));
          const again = await planFor(cluster, keystone, options);
          if (again.changes.length > 0) throw new Error(JSON.stringify(again.changes));
        }
      },
    ),
    RUNS,
  );
});

t.test(
  'only Stonegate’s own objects change, and users are bound only in the namespace of their project',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        wildKeystone,
        rules,
        foreign,
        fc.constantFrom<Mode>('arktos', 'shared'),
        async (keystone, configured, foreignObjects, mode) => {
          const cluster = createMemoryCluster();
          plant(cluster, mode, foreignObjects);
          const before = state(cluster);
          const options = { mode, rules: bindingRules(configured) };
          await carryOut(cluster, await planFor(cluster, keystone, options));
          const after = state(cluster);
          for (const [key, version] of before)
            if (after.get(key) !== version) throw new Error(`${key} was changed`);
          const owners = new Map<string, string>();
          for (const { object, place } of cluster.objects.values()) {
            if (!('roleRef' in object) || !isManaged(object)) continue;
            if (object.kind === 'ClusterRoleBinding') {
              if (mode === 'shared' || place.tenant === 'system')
                throw new Error('a cluster role binding applies to every tenant');
              continue;
            }
            const { tenant = '', namespace = '' } = place;
            const key = ['Namespace', tenant, '', namespace].join('/');
            const madeFor = cluster.objects.get(key)?.object.metadata.labels?.['stonegate.dev/project-id'];
            const project = object.metadata.labels?.['stonegate.dev/project-id'] ?? '';
            const [, named] =
              /^keystone:project:([^:]+):/.exec(storedBinding(object).subjects[0]?.name ?? '') ?? [];
            if (madeFor !== project || (named !== undefined && labelValue(named) !== project))
              throw new Error(`${named} is bound in ${key}, which was created for ${madeFor}`);
            if (owners.get(key) !== undefined && owners.get(key) !== project)
              throw new Error(`two projects share ${key}`);
            owners.set(key, project);
          }
        },
      ),
      { numRuns: 300 },
    );
  },
);

t.test(
  'unless the operator forces it, no more than the configured share of several bindings is deleted',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        wildKeystone,
        wildKeystone,
        fc.constantFrom<Mode>('arktos', 'shared'),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (first, then, mode, share) => {
          const cluster = createMemoryCluster();
          await carryOut(cluster, await planFor(cluster, first, { mode }));
          const plan = await planFor(cluster, then, { mode });
          const there = [...plan.guarded.values()].reduce((all, one) => all + one, 0);
          const deletions = plan.changes.filter(({ action }) => action === 'delete');
          const going = deletions.length - heldBack(plan, share).length;
          return going <= 1 || (going <= there * share && going < there);
        },
      ),
      RUNS,
    );
  },
);
