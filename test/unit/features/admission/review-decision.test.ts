import t from 'tap';
import { desiredRBAC } from '../../../../src/features/cross-tenant/desired-rbac.ts';
import type { AdmissionRequest } from '../../../../src/kubernetes/admission-v1.ts';
import {
  ADMIN,
  ALICE,
  admissionRequest,
  decisionOf,
  refusedPaths,
} from '../../../support/admission-reviews.ts';
import { ALICE_READS_PODS, abacPolicies, resolvedPolicies } from '../../../support/policies.ts';

const RBAC = 'rbac.authorization.k8s.io';
const arktos = decisionOf();
const shared = decisionOf({ mode: 'shared' });
const CONTROLLER = { username: 'system:serviceaccount:kube-system:replicaset-controller', groups: [] };
const SYSTEM_USER = { username: 'system:stonegate:dora', groups: ['system:authenticated'] };

/** An object of a tenant, as Arktos sends it. */
function of(tenant: string, fields: object = {}, metadata: object = {}): object {
  return { metadata: { name: 'x', tenant, ...metadata }, ...fields };
}

function paths(changes: Partial<AdmissionRequest>, decide = arktos): string[] {
  return refusedPaths(decide(admissionRequest(changes)));
}

const privileged = { containers: [{ name: 'c', securityContext: { privileged: true } }] };
const PRIVILEGED = 'spec.containers[0].securityContext.privileged';

t.test('on Arktos the tenant of the object decides, not the user', async (t) => {
  const spec = { ...privileged, nodeName: 'n1' };
  for (const user of [ALICE, CONTROLLER, SYSTEM_USER, ADMIN])
    t.same(paths({ user, object: of('acme', { spec }) }), ['spec.nodeName', PRIVILEGED], user.username);
  for (const user of [CONTROLLER, SYSTEM_USER, ADMIN])
    t.same(paths({ user, object: of('system', { spec }) }), [], user.username);
});

t.test(
  'in shared mode the user decides: by the group of a tenant, or the namespace of a service account',
  async (t) => {
    const object = { spec: { nodeName: 'n1' } };
    const account = (namespace: string) => ({ username: `system:serviceaccount:${namespace}:x`, groups: [] });
    t.same(paths({ object }, shared), ['spec.nodeName']);
    for (const namespace of ['acme', 'default', 'stonegates'])
      t.same(paths({ object, user: account(namespace) }, shared), ['spec.nodeName'], namespace);
    for (const namespace of ['kube-system', 'stonegate', 'stonegate-admission'])
      t.same(paths({ object, user: account(namespace) }, shared), [], namespace);
    t.same(paths({ object, user: ADMIN }, shared), []);
    const trusting = decisionOf({
      mode: 'shared',
      systemNamespaces: ['argocd'],
      systemUsers: ['system:serviceaccount:tools:operator'],
    });
    t.same(paths({ object, user: account('argocd') }, trusting), []);
    t.same(
      paths({ object, user: { ...ALICE, username: 'system:serviceaccount:tools:operator' } }, trusting),
      [],
    );
    t.same(paths({ object, user: account('tools') }, trusting), ['spec.nodeName']);
  },
);

t.test('a user of a tenant may not bind a pod to a node; the scheduler may', async (t) => {
  const object = { metadata: { name: 'x' }, target: { kind: 'Node', name: 'n1' } };
  const scheduler = { username: 'system:kube-scheduler', groups: [] };
  for (const decide of [arktos, shared])
    for (const place of [{ resource: 'pods', subresource: 'binding' }, { resource: 'bindings' }]) {
      t.same(paths({ ...place, object }, decide), ['target']);
      t.same(paths({ ...place, object, user: scheduler }, decide), []);
    }
  // On Arktos the name of a service account does not show its tenant.
  t.same(paths({ resource: 'pods', subresource: 'binding', object, user: CONTROLLER }), ['target']);
});

t.test('kinds of the system are refused to tenants', async (t) => {
  const set = { group: 'apps', resource: 'daemonsets' };
  const object = of('acme', { spec: { template: { spec: {} } } });
  for (const user of [ALICE, ADMIN]) t.same(paths({ ...set, user, object }), ['kind'], user.username);
  t.same(paths({ ...set, object: { spec: {} } }, shared), ['kind']);
  t.same(paths({ ...set, object: { spec: {} }, user: ADMIN }, shared), []);
  t.same(paths({ ...set, operation: 'UPDATE', object, oldObject: object }), ['kind']);
  t.same(paths({ ...set, operation: 'UPDATE', object, oldObject: object, user: ADMIN }), []);
  t.same(paths({ ...set, operation: 'DELETE', oldObject: object }), [], 'it may be deleted');

  const node = { resource: 'nodes', namespace: '', object: { metadata: { name: 'n' } } };
  for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const)
    for (const decide of [arktos, shared]) t.same(paths({ ...node, operation }, decide), ['kind']);
  const forged = { ...node, object: of('system') };
  t.same(paths(forged), ['kind'], 'the tenant that a node states proves nothing');
  t.same(paths({ ...node, user: { username: 'system:node:n1', groups: ['system:nodes'] } }), []);
  t.same(paths({ ...node, user: CONTROLLER }), ['kind'], 'every tenant can have an account of that name');
  t.same(paths({ ...node, user: CONTROLLER }, shared), []);

  const messages = (changes: object, decide: typeof arktos) =>
    decide(admissionRequest(changes)).violations.map(({ message }) => message);
  t.match(messages({ ...set, object: { spec: {} } }, shared), [/admission\.systemUsers/]);
  const operator = decisionOf({ mode: 'shared', systemUsers: [ALICE.username] });
  t.same(paths({ ...set, object: { spec: {} } }, operator), [], 'the operator has named the user');
  t.notMatch(messages({ ...set, object }, arktos), [/systemUsers/], 'on Arktos that option would not help');

  const configured = decisionOf({ systemKinds: ['ingresses.networking.k8s.io'] });
  const ingress = { group: 'networking.k8s.io', resource: 'ingresses' };
  t.same(paths({ ...ingress, object: of('acme') }, configured), ['kind']);
  t.same(paths({ ...ingress, object: of('system'), user: ADMIN }, configured), []);
});

t.test('a tenant may not define kinds of scope Cluster', async (t) => {
  const definition = (tenant: string, scope?: string) => ({
    group: 'apiextensions.k8s.io',
    resource: 'customresourcedefinitions',
    namespace: '',
    object: of(tenant, { spec: { ...(scope && { scope }) } }),
  });
  t.same(paths(definition('acme', 'Cluster')), ['spec.scope']);
  t.same(paths(definition('acme')), ['spec.scope']);
  t.same(paths(definition('acme', 'Tenant')), []);
  t.same(paths({ ...definition('system', 'Cluster'), user: ADMIN }), []);
  const { object } = definition('acme', 'Cluster');
  t.same(paths({ ...definition('acme', 'Cluster'), operation: 'UPDATE', oldObject: object }), []);
});

t.test('a tenant may not use files of nodes as volumes', async (t) => {
  for (const source of ['hostPath', 'local']) {
    const object = of('acme', { spec: { [source]: { path: '/' } } });
    t.same(paths({ resource: 'persistentvolumes', namespace: '', object }), [`spec.${source}`]);
    const update = { operation: 'UPDATE', resource: 'persistentvolumes', namespace: '', object } as const;
    t.same(paths({ ...update, oldObject: object }), []);
  }
  const device = (driver: string) => ({
    resource: 'persistentvolumes',
    namespace: '',
    object: of('acme', { spec: { flexVolume: { driver, options: { type: 'raw', path: '/dev/sda' } } } }),
  });
  t.same(paths(device('virtlet/flexvolume_driver')), ['spec.flexVolume'], 'a device of a node');
  const nfs = of('acme', { spec: { nfs: { server: 's', path: '/' } } });
  t.same(paths({ resource: 'persistentvolumes', namespace: '', object: nfs }), []);
});

t.test('Pod Security', async (t) => {
  await t.test('each tenant has its level, and messages use the words of the standards', async (t) => {
    const decide = decisionOf({
      exceptions: { acme: { level: 'privileged' }, globex: { level: 'restricted' } },
    });
    t.same(paths({ object: of('acme', { spec: privileged }) }, decide), []);
    t.same(paths({ object: of('initech', { spec: privileged }) }, decide), [PRIVILEGED]);
    const plain = { containers: [{ name: 'c' }] };
    t.not(paths({ object: of('globex', { spec: plain }) }, decide).length, 0);
    const { violations } = arktos(admissionRequest({ object: of('acme', { spec: privileged }) }));
    t.match(violations, [{ message: `${PRIVILEGED}: violates PodSecurity "baseline:v1.15": privileged` }]);
  });

  await t.test(
    'in shared mode a service account shows no tenant, so the strictest level applies',
    async (t) => {
      const user = { username: 'system:serviceaccount:acme:x', groups: [] };
      const decide = decisionOf({
        mode: 'shared',
        exceptions: { acme: { level: 'baseline' }, globex: { level: 'restricted', mode: 'warn' } },
      });
      t.same(paths({ object: { spec: privileged }, user }, decide), [PRIVILEGED]);
      t.same(paths({ object: { spec: privileged } }, decide), [PRIVILEGED]);
      const bob = { username: 'initech:bob', groups: ['stonegate:tenant:initech'] };
      t.same(paths({ object: { spec: privileged }, user: bob }, decide), []);
      const plain = { containers: [{ name: 'c' }] };
      t.same(paths({ object: { spec: plain }, user }, decide), [], 'a level that only warns does not count');
    },
  );

  await t.test(
    'annotations that the API server could not store are refused without being judged',
    async (t) => {
      const key = (at: number) => `container.apparmor.security.beta.kubernetes.io/${at}`;
      const many = Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [key(at), 'x']));
      const object = of('acme', { spec: {} }, { annotations: many });
      t.match(arktos(admissionRequest({ object })), { violations: [{ rule: 'size' }] });
      const stored = of('acme', { spec: {} }, { annotations: { a: 'x'.repeat(256 * 1024 - 1) } });
      t.same(paths({ object: stored }), []);
    },
  );

  await t.test('a pod with too many values is refused without being judged', async (t) => {
    const object = of('acme', { spec: { containers: Array.from({ length: 3_000 }, () => ({})) } });
    t.match(arktos(admissionRequest({ object })), { violations: [{ rule: 'size' }] });
    t.match(arktos(admissionRequest({ operation: 'UPDATE', object: of('acme'), oldObject: object })), {
      violations: [{ rule: 'size' }],
    });
  });
});

t.test('users of tenants may not change what Stonegate writes', async (t) => {
  const label = 'metadata.labels[stonegate.dev/project-id]';
  const marked = (value?: string) =>
    of('acme', {}, { labels: { app: 'x', ...(value && { 'stonegate.dev/project-id': value }) } });

  await t.test('D234 D235 labels of a namespace cannot be added, changed or removed', async (t) => {
    const update = { resource: 'namespaces', name: 'x', operation: 'UPDATE' } as const;
    t.same(paths({ ...update, oldObject: marked(), object: marked('p') }), [label], 'adopted');
    t.same(paths({ ...update, oldObject: marked('p'), object: marked('q') }), [label], 'moved');
    t.same(paths({ ...update, oldObject: marked('p'), object: marked() }), [label], 'released');
    t.same(paths({ ...update, oldObject: marked('p'), object: marked('p') }), []);
    t.same(paths({ resource: 'namespaces', namespace: 'x', object: marked('p') }), [label], 'created');
    const provisioner = { username: 'stonegate-provisioner', groups: ['system:authenticated'] };
    t.same(paths({ resource: 'namespaces', namespace: 'x', object: marked('p'), user: provisioner }), []);
    const annotated = of('acme', {}, { annotations: { 'stonegate.dev/purpose': 'p' } });
    t.same(paths({ resource: 'namespaces', namespace: 'x', object: annotated }), [
      'metadata.annotations[stonegate.dev/purpose]',
    ]);
    t.same(
      paths({ resource: 'services', object: marked('p') }),
      [],
      'on other kinds the labels are the tenant’s own',
    );
  });

  await t.test('D234 in shared mode namespaces of the system cannot be changed at all', async (t) => {
    for (const name of ['kube-system', 'stonegate', 'kube-new']) {
      const namespace = { resource: 'namespaces', namespace: name, object: { metadata: { name } } };
      t.same(paths(namespace, shared), ['metadata.name'], name);
      t.same(paths({ ...namespace, operation: 'DELETE', name }, shared), ['metadata.name']);
    }
    const made = { resource: 'namespaces', namespace: '', object: { metadata: { generateName: 'kube-' } } };
    t.same(paths(made, shared), ['metadata.name'], 'before the API server has generated the name');
    t.same(paths({ resource: 'namespaces', namespace: 'kube-system', object: of('acme') }), []);
  });

  await t.test('bindings of Stonegate cannot be changed, and their names are reserved', async (t) => {
    const name = `stonegate-${'a'.repeat(40)}`;
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'r' };
    const binding = { group: RBAC, resource: 'rolebindings' };
    const subjects = [{ kind: 'Group', name: 'g' }];
    const own = of('acme', { roleRef, subjects }, { name, resourceVersion: '1' });
    const update = { ...binding, operation: 'UPDATE', oldObject: own } as const;
    const labelled = of('acme', { roleRef, subjects }, { name, labels: { a: 'b' } });
    t.same(paths({ ...update, object: labelled }), ['metadata.labels']);
    const later = of('acme', { roleRef, subjects }, { name, resourceVersion: '2', managedFields: [] });
    t.same(paths({ ...update, object: later }), [], 'only fields that the API server sets have changed');
    t.same(paths({ ...binding, object: own }), ['metadata.name'], 'its names are reserved');
  });

  await t.test('the names of objects that are made from policies are reserved', async (t) => {
    const { policies } = resolvedPolicies({
      abac: abacPolicies(ALICE_READS_PODS, { ...ALICE_READS_PODS, name: 'web', namespace: 'web' }),
    });
    const tenants = new Set(['globex']);
    const desired = desiredRBAC(policies, { tenants, systemTenant: 'system', grantable: [] });
    t.equal(desired.length, 6);
    for (const { object } of desired) {
      const { labels: _, ...metadata } = object.metadata;
      const resource = `${object.kind.toLowerCase()}s`;
      const made = { ...object, metadata: { ...metadata, tenant: 'globex' } };
      t.same(paths({ group: RBAC, resource, object: made }), ['metadata.name'], object.kind);
      t.same(paths({ group: RBAC, resource, operation: 'DELETE', oldObject: made }), ['metadata.name']);
    }
  });
});
