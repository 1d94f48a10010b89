import t from 'tap';
import { parse } from 'yaml';
import { systemBindingWarnings } from '../../../../src/features/bindings/system-bindings.ts';
import { KINDS } from '../../../../src/kubernetes/kubernetes-object.ts';
import { createMemoryCluster } from '../../../support/memory-cluster.ts';
import { eachRow } from '../../../support/rows.ts';

const RBAC = 'rbac.authorization.k8s.io';
const signal = new AbortController().signal;

async function warningsFor(subject: string, tenant: string) {
  const cluster = createMemoryCluster();
  const binding = parse(`
    apiVersion: ${RBAC}/v1
    kind: RoleBinding
    metadata: {name: ops, namespace: default}
    roleRef: {apiGroup: ${RBAC}, kind: ClusterRole, name: view}
    subjects: [${subject}]`);
  await cluster.create(KINDS.RoleBinding, { tenant, namespace: 'default' }, binding, signal);
  return systemBindingWarnings(cluster, 'system', signal);
}

t.test(
  'a role binding of the system tenant causes a warning, unless it is for the cluster itself',
  async (t) => {
    await eachRow(
      `
    system | {kind: User, apiGroup: ${RBAC}, name: 'system:stonegate:dora'}      | true
    system | {kind: Group, apiGroup: ${RBAC}, name: 'keystone:system:role:admin'} | true
    system | {kind: Group, apiGroup: ${RBAC}, name: 'system:authenticated'}      | true
    system | {kind: User, apiGroup: ${RBAC}, name: 'system:kube-scheduler'}      | false
    system | {kind: ServiceAccount, name: default, namespace: default}           | false
    acme   | {kind: User, apiGroup: ${RBAC}, name: 'acme:alice'}                 | false`,
      async (tenant, subject, isWarned) => {
        const warning =
          'the RoleBinding default/ops of the tenant system applies in the namespace default of every tenant';
        t.strictSame(await warningsFor(subject, tenant), isWarned === 'true' ? [warning] : [], subject);
      },
    );
  },
);
