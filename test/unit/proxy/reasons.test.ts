import t from 'tap';
import type { Question } from '../../../src/kubernetes/authorizer-attributes.ts';
import type { StoredObject } from '../../../src/kubernetes/rbac-v1.ts';
import { reasonFor } from '../../../src/proxy/reasons.ts';
import { accessIndexOf } from '../../support/access-index.ts';
import { rule } from '../../support/policy-rule.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  question,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../support/rbac-objects.ts';

const MEMBER = 'keystone:project:p1:role:member';
const PODS = [rule('create', 'services'), rule('delete', 'configmaps'), rule('get,list', 'pods')];
const READER = [rule('get', 'rolebindings,clusterrolebindings,clusterroles', 'rbac.authorization.k8s.io')];
const MAY_READ = [
  clusterRole('reader', READER),
  clusterRoleBinding('readers', 'ClusterRole/reader', [user('alice')]),
];

function reason(objects: readonly StoredObject[], asked: Question, allowed: boolean, { stale = false } = {}) {
  const site = accessIndexOf(...objects);
  if (stale) site.becomeStale();
  const viewer = {
    user: rbacUser('alice', [MEMBER]),
    tenant: 'acme',
    isSystem: false,
    domainID: undefined,
    namePrefix: undefined,
  };
  return reasonFor(site.access, viewer, asked, allowed, new Map([['p1', 'web']]));
}

const BOUND = [clusterRole('edit', PODS), roleBinding('web', 'b', 'ClusterRole/edit', [group(MEMBER)])];

const NAMED = [
  role('web', 'tls', [{ ...rule('get', 'secrets'), resourceNames: ['tls'] }]),
  roleBinding('web', 'tls', 'Role/tls', [user('alice')]),
];

t.test('D136: the path goes from the Keystone role to group, binding, role and rule', async (t) => {
  t.equal(
    reason([...BOUND, ...MAY_READ], question('get', 'pods', 'web'), true),
    `role member on project web → group ${MEMBER} → RoleBinding b → ClusterRole edit → rule 3: get,list pods`,
  );
  t.equal(
    reason([...NAMED, ...MAY_READ], question('get', 'secrets', 'web', { name: 'tls' }), true),
    'user alice → RoleBinding tls → Role tls → rule 1: get secrets named tls',
  );
});

t.test('a ClusterRole that the user may not read is not named as the source of a rule', async (t) => {
  const objects = [
    clusterRole('edit', PODS, { aggregates: [{ matchLabels: { to: 'edit' } }] }),
    clusterRole('secret-source', PODS, { labels: { to: 'edit' } }),
    roleBinding('web', 'b', 'ClusterRole/edit', [user('alice')]),
    clusterRole('bindings', [
      { ...READER[0], verbs: ['get'], apiGroups: ['*'], resources: ['rolebindings'] },
    ]),
    clusterRoleBinding('readers', 'ClusterRole/bindings', [user('alice')]),
  ];
  const text = reason(objects, question('get', 'pods', 'web'), true);
  t.match(text, 'RoleBinding b → ClusterRole edit → rule');
  t.notMatch(text, /secret-source/);
});

t.test('D137: a binding that the user may not read is not named', async (t) => {
  t.equal(
    reason(BOUND, question('get', 'pods', 'web'), true),
    `role member on project web → group ${MEMBER} → a binding in the namespace`,
  );
  const everywhere = [
    clusterRole('edit', PODS),
    clusterRoleBinding('secret-name', 'ClusterRole/edit', [user('alice')]),
  ];
  t.equal(reason(everywhere, question('get', 'pods', 'web'), true), 'user alice → a cluster-wide binding');
  t.equal(
    reason(everywhere, question('get', 'pods/log', 'web'), false),
    'a cluster-wide binding grants `get pods`, not `pods/log`',
  );
});

t.test('D119: a rule of an aggregated role is traced to the selected cluster role', async (t) => {
  const [, , rule] = PODS;
  const objects = [
    clusterRole('edit', rule ? [rule] : [], { aggregates: [{ matchLabels: { to: 'edit' } }] }),
    clusterRole('logs', rule ? [rule] : [], { labels: { to: 'edit' } }),
    clusterRole('unselected', rule ? [rule] : []),
    roleBinding('web', 'b', 'ClusterRole/edit', [user('alice')]),
    ...MAY_READ,
  ];
  t.match(
    reason(objects, question('get', 'pods', 'web'), true),
    'ClusterRole edit (from ClusterRole logs) → rule 1',
  );
  for (const [operator, found] of [
    ['In', true],
    ['NotIn', false],
    ['Exists', true],
    ['DoesNotExist', false],
    ['Near', false],
  ] as const) {
    const selector = { matchExpressions: [{ key: 'to', operator, values: ['edit'] }] };
    const changed = objects.map((object) =>
      object.name === 'edit' ? { ...object, aggregates: [selector] } : object,
    );
    t.equal(
      reason(changed, question('get', 'pods', 'web'), true)?.includes('logs') === true,
      found,
      operator,
    );
  }
});

t.test('D118: an aggregated role without rules yet grants nothing, and the reason says so', async (t) => {
  const objects = [
    clusterRole('edit', [], { aggregates: [{ matchLabels: { to: 'edit' } }] }),
    clusterRole('pods', PODS, { labels: { to: 'edit' } }),
    roleBinding('web', 'b', 'ClusterRole/edit', [user('alice')]),
    ...MAY_READ,
  ];
  t.equal(
    reason(objects, question('get', 'pods', 'web'), false),
    'RoleBinding b grants ClusterRole edit, whose aggregation is not filled in',
  );
});

t.test('near misses say what is granted instead: the nearest first, and at most three', async (t) => {
  const objects = [...BOUND, ...MAY_READ, ...NAMED];
  const missed = (...[verb, kind, name = '']: string[]) =>
    reason(objects, question(verb ?? '', kind ?? '', 'web', { name }), false);
  t.equal(missed('get', 'pods/log'), 'RoleBinding b grants `get pods`, not `pods/log`');
  t.equal(missed('delete', 'pods'), 'RoleBinding b grants `get,list pods`, not `delete`');
  t.equal(missed('get', 'secrets', 'db'), 'RoleBinding tls grants `get secrets` for other names, not "db"');
  t.equal(missed('get', 'secrets'), 'RoleBinding tls grants `get secrets` for some names only');
  t.equal(missed('get', 'jobs'), undefined);
  const many = Array.from({ length: 9 }, (_, at) =>
    roleBinding('web', `m${at}`, 'ClusterRole/edit', [user('alice')]),
  );
  t.equal(reason([...BOUND, ...many], question('get', 'pods/log', 'web'), false)?.split('; ').length, 3);
});

t.test('no reason is given if the API server decided otherwise or the index is not current', async (t) => {
  t.equal(reason(BOUND, question('get', 'pods', 'web'), false), undefined);
  t.equal(reason(BOUND, question('get', 'pods/log', 'web'), true), undefined);
  t.equal(reason(BOUND, question('get', 'pods', 'web'), true, { stale: true }), undefined);
  t.equal(reason(BOUND, { verb: 'get', path: '/healthz' }, false), undefined);
});
