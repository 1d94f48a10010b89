import fc from 'fast-check';
import t from 'tap';
import type { StoredObject } from '../../../src/kubernetes/rbac-v1.ts';
import type { Scope } from '../../../src/rbac/attributes.ts';
import { decide } from '../../../src/rbac/decide.ts';
import { groupKey, subjectOfKey } from '../../../src/rbac/subject-key.ts';
import { type WhoCanQuestion, whoCan } from '../../../src/rbac/who-can.ts';
import { rule } from '../../support/policy-rule.ts';
import { questions, rbacObjects } from '../../support/random-rbac.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  rbacUser,
  role,
  roleBinding,
  serviceAccount,
  user,
} from '../../support/rbac-objects.ts';

const ADMIN = rule('*', '*', '*');

function ask(verb: string, resource: string, more: { name?: string; apiGroup?: string } = {}) {
  const [kind = '', subresource = ''] = resource.split('/', 2);
  return { verb, apiGroup: '', resource: kind, subresource, name: '', ...more };
}

/** Each grant as `where subject`. */
function listed(objects: readonly StoredObject[], question: WhoCanQuestion, scope: Scope) {
  const { grants, errors } = whoCan(indexOf(...objects).objectsOf(''), question, scope);
  return {
    grants: grants.map(({ key, binding }) => `${binding.namespace || '*'} ${subjectOfKey(key).name}`),
    errors,
  };
}

const LOCATOR = [
  clusterRole('admin', [ADMIN]),
  clusterRoleBinding('super', 'ClusterRole/admin', [user('super-admin'), group('super-admins')]),
  roleBinding('ns1', 'admins', 'ClusterRole/admin', [user('admin'), group('admins')]),
];

t.test('D125: rules for all paths and for a prefix count', async (t) => {
  const objects = [
    clusterRole('cluster-admin', [ADMIN, { verbs: ['*'], nonResourceURLs: ['*'] }]),
    clusterRole('prefix', [{ verbs: ['get'], nonResourceURLs: ['/apis/*'] }]),
    clusterRole('exact', [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }]),
    clusterRoleBinding('a', 'ClusterRole/cluster-admin', [user('root')]),
    clusterRoleBinding('b', 'ClusterRole/prefix', [user('browser')]),
    clusterRoleBinding('c', 'ClusterRole/exact', [user('probe')]),
    roleBinding('ns1', 'd', 'ClusterRole/cluster-admin', [user('local')]),
  ];
  t.same(listed(objects, { verb: 'get', path: '/healthz' }, 'all').grants, ['* root', '* probe']);
  t.same(listed(objects, { verb: 'get', path: '/apis/apps' }, { namespace: 'ns1' }).grants, [
    '* root',
    '* browser',
  ]);
});

t.test('D127: bind, escalate, impersonate and use are looked up in rules', async (t) => {
  const RBAC = 'rbac.authorization.k8s.io';
  const rights = [
    ['bind', 'clusterroles', RBAC],
    ['escalate', 'roles', RBAC],
    ['impersonate', 'users', ''],
    ['use', 'securitycontextconstraints', 'security.openshift.io'],
  ] as const;
  const rules = rights.map(([verb, resource, group]) => ({
    ...rule(verb, resource, group),
  }));
  const objects = [clusterRole('r', rules), clusterRoleBinding('b', 'ClusterRole/r', [user('op')])];
  for (const [verb, resource, apiGroup] of rights)
    t.same(listed(objects, ask(verb, resource, { apiGroup }), 'all').grants, ['* op'], verb);
});

t.test('the search ends at the limit of grants', async (t) => {
  const subjects = Array.from({ length: 50 }, (_, at) => user(`u${at}`));
  const objects = indexOf(
    clusterRole('r', [ADMIN]),
    clusterRoleBinding('c', 'ClusterRole/r', subjects),
    roleBinding('ns1', 'b', 'ClusterRole/r', subjects),
  ).objectsOf('');
  const asked = (grants: number) =>
    whoCan(objects, ask('get', 'pods'), 'all', { grants, mayShow: () => true });
  t.match(asked(60), { grants: { length: 60 }, isCut: true });
  t.match(asked(100), { grants: { length: 100 }, isCut: false });
});

t.test('D129: a role binding in a namespace counts for requests for that namespace object', async (t) => {
  const rule = (...resourceNames: string[]) => [
    { verbs: ['get', 'delete'], apiGroups: [''], resources: ['namespaces'], resourceNames },
  ];
  const objects = [
    clusterRole('any', rule()),
    clusterRole('ns1', rule('ns1')),
    roleBinding('ns1', 'a', 'ClusterRole/any', [user('owner')]),
    roleBinding('ns2', 'b', 'ClusterRole/ns1', [user('stray')]),
    clusterRoleBinding('c', 'ClusterRole/ns1', [user('named')]),
  ];
  t.same(listed(objects, ask('delete', 'namespaces'), { namespace: 'ns1' }).grants, ['* named', 'ns1 owner']);
  t.same(listed(objects, ask('delete', 'namespaces'), { namespace: 'ns2' }).grants, []);
});

/** A user who is exactly this subject. */
function userWithKey(key: string) {
  const { kind, name } = subjectOfKey(key);
  return kind === 'user' ? rbacUser(name) : rbacUser('x:none', [name]);
}

const KEYS = [
  ...['u1', 'u2', 'u3', 'system:serviceaccount:a:bot', 'system:serviceaccount:b:bot'].map(
    (name) => `user:${name}`,
  ),
  ...['g1', 'g2', 'g3', 'g4'].map(groupKey),
];

t.test('a subject is listed if and only if a user who is exactly this subject is allowed', async () => {
  fc.assert(
    fc.property(rbacObjects, questions, (objects, question) => {
      const index = indexOf(...objects);
      const { namespace: place, tenant: _, ...asked } = question;
      // A request for a namespace object counts as a request within that namespace.
      fc.pre(asked.resource !== 'namespaces');
      const { grants } = whoCan(index.objectsOf(''), asked, { namespace: place });
      const keys = new Set<string>(grants.map(({ key }) => key));
      return KEYS.every(
        (key) => keys.has(key) === (decide(index, userWithKey(key), question).decision === 'allow'),
      );
    }),
    { numRuns: 2_000 },
  );
});

t.test('D124: across all namespaces, each grant names its namespace', async (t) => {
  const objects = [
    ...LOCATOR,
    role('ns2', 'maker', [rule('create', 'pods')]),
    roleBinding('ns2', 'makers', 'Role/maker', [serviceAccount('ci'), serviceAccount('ci', 'tools')]),
    roleBinding('ns3', 'makers', 'Role/maker', [user('idle')]),
  ];
  t.same(listed(objects, ask('create', 'pods'), 'all').grants, [
    '* super-admin',
    '* super-admins',
    'ns1 admin',
    'ns1 admins',
    'ns2 system:serviceaccount:ns2:ci',
    'ns2 system:serviceaccount:tools:ci',
  ]);
});

t.test('D132: a missing role is reported in addition to the subjects found', async (t) => {
  const objects = [
    ...LOCATOR,
    roleBinding('ns1', 'broken', 'Role/gone', [user('eve')]),
    roleBinding('ns2', 'broken', 'Role/lost', [user('eve')]),
  ];
  const { grants, errors } = listed(objects, ask('get', 'pods'), { namespace: 'ns1' });
  t.equal(grants.length, 4);
  t.same(errors, ['role.rbac.authorization.k8s.io "gone" not found']);
  t.equal(listed(objects, ask('get', 'pods'), 'all').errors.length, 2);
});
