import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { KeystoneSync, ProjectMember } from '../../../../src/features/bindings/keystone-sync.ts';
import { managedLabels, storedBinding } from '../../../../src/features/bindings/managed-object.ts';
import { createProjectSynchronizer } from '../../../../src/features/bindings/project-sync.ts';
import type { Binding, Namespace } from '../../../../src/kubernetes/kubernetes-object.ts';
import { type LogFields, silentLogger } from '../../../../src/lib/logger.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { eventually } from '../../../support/eventually.ts';
import { createMemoryCluster } from '../../../support/memory-cluster.ts';

const GROUP = 'rbac.authorization.k8s.io';
const RULES: KeystoneSync = {
  ...parse("{projects: true, roleAssignments: true, namespaceFormat: '%i', roleMappings: []}"),
  ...{ ignoredProjects: new Set(), ignoredProjectNames: new Set() },
};
const ALICE: ProjectMember = {
  tenant: toTenantName('acme'),
  username: 'acme:alice',
  userID: 'alice-id',
  userDomainID: 'acme-id',
  project: { id: 'p1', name: 'web' },
  roles: ['member'],
};

const binding = (name: string, role: string, user: string): Binding =>
  parse(`
    apiVersion: ${GROUP}/v1
    kind: RoleBinding
    metadata: {name: ${name}, namespace: p1}
    roleRef: {apiGroup: ${GROUP}, kind: ClusterRole, name: ${role}}
    subjects: [{apiGroup: ${GROUP}, kind: User, name: '${user}'}]`);

function namespace(name: string, projectID?: string): Namespace {
  const marks = projectID === undefined ? {} : managedLabels({ projectID });
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...marks } };
}

function start(rules: Partial<KeystoneSync> = {}) {
  const cluster = createMemoryCluster();
  const warned: LogFields[] = [];
  const sync = createProjectSynchronizer({
    objectsOf: () => cluster,
    rules: () => ({ ...RULES, ...rules }),
    placeOf: () => ({}),
    logger: { ...silentLogger, warn: (fields) => void warned.push(fields) },
  });
  return {
    cluster,
    warned,
    sync,
    /** Resolves when nothing is left to do. */
    async resolved(member: ProjectMember) {
      sync.request(member);
      await sync.settled();
    },
    bindings: () =>
      [...cluster.objects.values()]
        .map(({ object }) => object)
        .filter((object) => object.kind === 'RoleBinding')
        .map((object) => `${object.metadata.name} → ${storedBinding(object).subjects[0]?.name}`)
        .sort(),
  };
}

t.test('C238 the loss of a role deletes its binding, and no other', async (t) => {
  const { resolved, cluster, bindings } = start();
  cluster.put(namespace('p1', 'p1'), {});
  const others = [
    binding('alice-id_admin', 'cluster-admin', 'another-name'),
    binding('bob-id_admin', 'admin', 'acme:bob'),
    binding('by-hand', 'admin', 'acme:alice'),
  ];
  for (const other of [...others, binding('alice-id_reader', 'reader', 'alice')])
    cluster.put(other, { namespace: 'p1' });
  await resolved(ALICE);
  t.same(bindings(), [
    'alice-id_admin → another-name',
    'alice-id_member → acme:alice',
    'bob-id_admin → acme:bob',
    'by-hand → acme:alice',
  ]);
});

t.test('a user’s new name is written into the existing bindings', async (t) => {
  const { resolved, cluster, bindings } = start();
  cluster.put(namespace('p1', 'p1'), {});
  cluster.put(binding('alice-id_member', 'member', 'alice'), { namespace: 'p1' });
  await resolved(ALICE);
  t.same(bindings(), ['alice-id_member → acme:alice']);
});

t.test('nothing is bound in a namespace of no project or of another, and the log says so', async (t) => {
  for (const found of [namespace('p1'), namespace('p1', 'p2')]) {
    const { resolved, cluster, warned, bindings } = start();
    cluster.put(found, {});
    await resolved(ALICE);
    t.same(bindings(), []);
    t.match(warned, [{ namespace: 'p1' }]);
  }
});

t.test(
  'C237 a name that cannot name a namespace, or names one of the cluster’s own, is refused with a warning',
  async (t) => {
    for (const [namespaceFormat, project] of [
      ['%n-%i', { id: 'p1', name: 'My Project_1' }],
      ['%n-%i', { id: 'system', name: 'kube' }],
    ] as const) {
      const { resolved, cluster, warned } = start({ namespaceFormat });
      await resolved({ ...ALICE, project });
      t.same(cluster.writes, []);
      t.equal(warned.length, 1);
    }
  },
);

t.test('only the requested objects are created', async (t) => {
  const { resolved, cluster } = start({ roleAssignments: false });
  await resolved(ALICE);
  t.same([...cluster.objects.keys()], ['Namespace///p1']);
  for (const rules of [
    { ignoredProjects: new Set(['p1']) },
    { ignoredProjectNames: new Set(['web']) },
    { projects: false, roleAssignments: false },
    { projects: false },
  ]) {
    const other = start(rules);
    await other.resolved(ALICE);
    t.same(other.cluster.writes, []);
  }
});

t.test(
  'roles whose names are reserved for the cluster, or invalid, are refused with a warning',
  async (t) => {
    const { resolved, bindings, warned } = start();
    await resolved({ ...ALICE, roles: ['member', 'system:node', 'a/b', '..', 'a%b'] });
    t.same(bindings(), ['alice-id_member → acme:alice']);
    t.match(warned, [{ roles: ['system:node', 'a/b', '..', 'a%b'] }]);
  },
);

t.test('a failure is logged, and the next review tries again', async (t) => {
  const { resolved, cluster, warned, bindings } = start();
  cluster.before = () => {
    throw new Error('the API server is away');
  };
  await resolved(ALICE);
  t.equal(warned.length, 1);
  cluster.before = () => {};
  await resolved(ALICE);
  t.same(bindings(), ['alice-id_member → acme:alice']);
});

t.test(
  'a role that may not be bound or unbound does not affect others, and is logged in one line',
  async (t) => {
    const { resolved, cluster, warned, bindings } = start();
    cluster.put(namespace('p1', 'p1'), {});
    cluster.put(binding('alice-id_former', 'former', 'acme:alice'), { namespace: 'p1' });
    cluster.before = (_verb, { name }) => {
      if (!/_(admin|former)$/.test(name)) return;
      throw new StatusError('ProvisioningForbidden', 'not allowed', { cause: new Error('attempt to grant') });
    };
    await resolved({ ...ALICE, roles: ['admin', 'member', 'reader'] });
    t.same(bindings(), [
      'alice-id_former → acme:alice',
      'alice-id_member → acme:alice',
      'alice-id_reader → acme:alice',
    ]);
    const reasons = warned.map(({ role, reason, error }) => `${role}: ${reason} ${error}`);
    t.same(reasons, [
      'former: not allowed: attempt to grant undefined',
      'admin: not allowed: attempt to grant undefined',
    ]);
  },
);

t.test('while a user’s synchronization is under way, only the newest further review counts', async (t) => {
  const { sync, cluster, bindings } = start();
  for (const role of ['one', 'two', 'three']) sync.request({ ...ALICE, roles: [role] });
  await eventually(() => bindings().includes('alice-id_three → acme:alice'));
  t.same(bindings(), ['alice-id_three → acme:alice']);
  t.notMatch(cluster.writes.join(), /two/);
});
