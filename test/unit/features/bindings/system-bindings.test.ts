import t from 'tap';
import { systemBindingWarnings } from '../../../../src/features/bindings/system-bindings.ts';
import { KINDS, type KubernetesObject } from '../../../../src/kubernetes/kubernetes-object.ts';
import { createMemoryCluster } from '../../../support/memory-cluster.ts';

const RBAC = 'rbac.authorization.k8s.io';
const signal = new AbortController().signal;

async function warningsFor(kind: 'User' | 'Group' | 'ServiceAccount', name: string, tenant = 'system') {
  const cluster = createMemoryCluster();
  const place = { tenant, namespace: 'default' };
  const subject =
    kind === 'ServiceAccount' ? { kind, name, namespace: 'default' } : { kind, name, apiGroup: RBAC };
  const binding: KubernetesObject = {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'ops', namespace: 'default' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' },
    subjects: [subject],
  };
  await cluster.create(KINDS.RoleBinding, place, binding, signal);
  return systemBindingWarnings(cluster, 'system', signal);
}

for (const [kind, name] of [
  ['User', 'system:stonegate:dora'],
  ['Group', 'keystone:system:role:admin'],
  ['Group', 'system:authenticated'],
] as const)
  t.test(`a role binding of the system tenant for the ${kind} ${name} causes a warning`, async (t) => {
    t.strictSame(await warningsFor(kind, name), [
      'the RoleBinding default/ops of the tenant system applies in the namespace default of every tenant',
    ]);
  });

for (const [kind, name] of [
  ['User', 'system:kube-scheduler'],
  ['ServiceAccount', 'default'],
] as const)
  t.test(`a role binding of the system tenant for the ${kind} ${name} causes no warning`, async (t) => {
    t.strictSame(await warningsFor(kind, name), []);
  });

t.test('a role binding of another tenant causes no warning', async (t) => {
  t.strictSame(await warningsFor('User', 'acme:alice', 'acme'), []);
});
