import t from 'tap';
import { parse } from 'yaml';
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
import { eachRow } from '../../../support/rows.ts';

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

const PRIVILEGED = 'spec.containers[0].securityContext.privileged';
const privileged = { containers: [{ name: 'c', securityContext: { privileged: true } }] };
const plain = { containers: [{ name: 'c' }] };
/** The user of a service account. */
const account = (namespace: string) => ({ username: `system:serviceaccount:${namespace}:x`, groups: [] });

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
    const refused = (changes: Partial<AdmissionRequest>, decide = shared) => {
      const found = paths({ object, ...changes }, decide);
      t.same(found.slice(1), []);
      return found[0] === 'spec.nodeName';
    };
    t.ok(refused({}));
    for (const namespace of ['acme', 'default', 'stonegates'])
      t.ok(refused({ user: account(namespace) }), namespace);
    for (const namespace of ['kube-system', 'stonegate', 'stonegate-admission'])
      t.notOk(refused({ user: account(namespace) }), namespace);
    t.notOk(refused({ user: ADMIN }));
    const trusting = decisionOf(
      parse(
        "{mode: shared, systemNamespaces: [argocd], systemUsers: ['system:serviceaccount:tools:operator']}",
      ),
    );
    t.notOk(refused({ user: account('argocd') }, trusting));
    t.notOk(refused({ user: { ...ALICE, username: 'system:serviceaccount:tools:operator' } }, trusting));
    t.ok(refused({ user: account('tools') }, trusting));
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
    ...{ group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '' },
    object: of(tenant, { spec: { ...(scope && { scope }) } }),
  });
  const cluster = definition('acme', 'Cluster');
  t.same(paths(cluster), ['spec.scope']);
  t.same(paths(definition('acme')), ['spec.scope']);
  t.same(paths(definition('acme', 'Tenant')), []);
  t.same(paths({ ...definition('system', 'Cluster'), user: ADMIN }), []);
  t.same(paths({ ...cluster, operation: 'UPDATE', oldObject: cluster.object }), []);
});

t.test('a tenant may not use files of nodes as volumes', async (t) => {
  const volume = (spec: string) => {
    const object = of('acme', { spec: parse(spec) });
    return { resource: 'persistentvolumes', namespace: '', object };
  };
  for (const source of ['hostPath', 'local']) {
    const created = volume(`{${source}: {path: /}}`);
    t.same(paths(created), [`spec.${source}`]);
    t.same(paths({ ...created, operation: 'UPDATE', oldObject: created.object }), []);
  }
  const device = volume('{flexVolume: {driver: virtlet/flexvolume_driver}}');
  t.same(paths(device), ['spec.flexVolume'], 'a device of a node');
  t.same(paths(volume('{nfs: {server: s, path: /}}')), []);
});

t.test('Pod Security', async (t) => {
  await t.test('each tenant has its level, and messages use the words of the standards', async (t) => {
    const decide = decisionOf(parse('exceptions: {acme: {level: privileged}, globex: {level: restricted}}'));
    t.same(paths({ object: of('acme', { spec: privileged }) }, decide), []);
    t.same(paths({ object: of('initech', { spec: privileged }) }, decide), [PRIVILEGED]);
    t.not(paths({ object: of('globex', { spec: plain }) }, decide).length, 0);
  });

  await t.test(
    'in shared mode a service account shows no tenant, so the strictest level applies',
    async (t) => {
      const user = account('acme');
      const decide = decisionOf(
        parse(
          '{mode: shared, exceptions: {acme: {level: baseline}, globex: {level: restricted, mode: warn}}}',
        ),
      );
      t.same(paths({ object: { spec: privileged }, user }, decide), [PRIVILEGED]);
      t.same(paths({ object: { spec: privileged } }, decide), [PRIVILEGED]);
      const bob = { username: 'initech:bob', groups: ['stonegate:tenant:initech'] };
      t.same(paths({ object: { spec: privileged }, user: bob }, decide), []);
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
    const change = (object: object, oldObject?: object, more: object = {}) =>
      paths({
        ...{ resource: 'namespaces', namespace: 'x', name: oldObject ? 'x' : '', object },
        ...(oldObject && { operation: 'UPDATE', oldObject }),
        ...more,
      });
    await eachRow(
      `
      adopted  |   | p
      moved    | p | q
      released | p |`,
      (what, before, after = '') => t.same(change(marked(after), marked(before)), [label], what),
    );
    t.same(change(marked('p'), marked('p')), []);
    t.same(change(marked('p')), [label], 'created');
    const user = { username: 'stonegate-provisioner', groups: ['system:authenticated'] };
    t.same(change(marked('p'), undefined, { user }), []);
    const annotated = of('acme', {}, { annotations: { 'stonegate.dev/purpose': 'p' } });
    t.same(change(annotated), ['metadata.annotations[stonegate.dev/purpose]']);
    t.same(
      change(marked('p'), undefined, { resource: 'services' }),
      [],
      'on other kinds they are the tenant’s',
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
