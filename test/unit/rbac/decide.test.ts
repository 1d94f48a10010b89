/** The decisions of Kubernetes' RBAC authorizer, from the index. */
import t from 'tap';
import { allows, decide } from '../../../src/rbac/decide.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  question,
  rbacUser,
  role,
  roleBinding,
  serviceAccount,
  user,
} from '../../support/rbac-objects.ts';

const EVERYTHING = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
const alice = rbacUser('alice', ['system:authenticated']);

function rule(verbs: string, resources: string, more: object = {}) {
  return { verbs: verbs.split(','), apiGroups: [''], resources: resources.split(','), ...more };
}

/** Alice with these rules in namespace `ns1`. */
function withRules(...rules: ReturnType<typeof rule>[]) {
  return indexOf(role('ns1', 'r', rules), roleBinding('ns1', 'b', 'Role/r', [user('alice')]));
}

t.test(
  'D101: a RoleBinding to a ClusterRole that grants everything reaches its namespace only',
  async (t) => {
    const index = indexOf(
      clusterRole('all', EVERYTHING),
      roleBinding('ns1', 'b', 'ClusterRole/all', [user('Admin'), group('Admins')]),
    );
    for (const who of [rbacUser('Admin'), rbacUser('x', ['Admins'])]) {
      t.equal(decide(index, who, question('delete', 'secrets', 'ns1')).decision, 'allow');
      t.equal(decide(index, who, question('get', 'pods', 'ns2')).decision, 'noOpinion');
      t.equal(decide(index, who, question('list', 'nodes')).decision, 'noOpinion');
      t.equal(decide(index, who, { verb: 'get', path: '/healthz' }).decision, 'noOpinion');
    }
  },
);

t.test('D102, D103, D105: subresources', async (t) => {
  const answers = (resources: string, asked: string) =>
    decide(withRules(rule('get', resources)), alice, question('get', asked, 'ns1')).decision;
  t.equal(answers('pods', 'pods/status'), 'noOpinion');
  t.equal(answers('pods', 'pods/exec'), 'noOpinion');
  t.equal(answers('pods/status', 'pods'), 'noOpinion');
  t.equal(answers('pods/status', 'pods/status'), 'allow');
  t.equal(answers('pods/*', 'pods/status'), 'noOpinion');
  t.equal(answers('pods/*', 'pods'), 'noOpinion');
  t.equal(answers('*/scale', 'deployments/scale'), 'allow');
  t.equal(answers('*/scale', 'deployments'), 'noOpinion');
  t.equal(answers('*', 'pods/exec'), 'allow');
});

t.test('D106, D107: paths', async (t) => {
  const allowed = (url: string, path: string, verb = 'get') =>
    decide(
      indexOf(
        clusterRole('r', [{ verbs: ['get'], nonResourceURLs: [url] }]),
        clusterRoleBinding('b', 'ClusterRole/r', [user('alice')]),
      ),
      alice,
      { verb, path },
    ).decision;
  t.equal(allowed('/apis/*', '/apis/v1'), 'allow');
  t.equal(allowed('/apis/*', '/apis/v1/foo'), 'allow');
  t.equal(allowed('/apis/*', '/apis'), 'noOpinion');
  t.equal(allowed('/apis/*', '/api/v1'), 'noOpinion');
  t.equal(allowed('*', '/anything'), 'allow');
  t.equal(allowed('*', '/anything', 'post'), 'noOpinion');
});

t.test('D109: names do not cover a create, which has no name', async (t) => {
  const index = withRules(rule('create,get', 'configmaps', { resourceNames: ['a'] }));
  t.equal(decide(index, alice, question('create', 'configmaps', 'ns1')).decision, 'noOpinion');
  t.equal(decide(index, alice, question('get', 'configmaps', 'ns1', { name: 'a' })).decision, 'allow');
  t.equal(decide(index, alice, question('get', 'configmaps', 'ns1', { name: 'b' })).decision, 'noOpinion');
});

t.test('D114: a service account without namespace is one of the binding', async (t) => {
  const index = indexOf(
    clusterRole('all', EVERYTHING),
    roleBinding('n', 'b', 'ClusterRole/all', [serviceAccount('sa')]),
    clusterRoleBinding('b', 'ClusterRole/all', [serviceAccount('sb')]),
  );
  const account = rbacUser('system:serviceaccount:n:sa');
  t.match(decide(index, account, question('get', 'pods', 'n')), {
    reason: 'RBAC: allowed by RoleBinding "b/n" of ClusterRole "all" to ServiceAccount "sa/n"',
  });
  t.equal(
    decide(index, rbacUser('system:serviceaccount::sb'), question('get', 'pods')).decision,
    'noOpinion',
  );
});

t.test('D115: what no API server would make is ignored', async (t) => {
  const index = indexOf(
    clusterRole('all', EVERYTHING),
    clusterRoleBinding('a', 'Role/all', [user('alice')]),
    clusterRoleBinding('b', 'Robot/all', [user('alice')]),
    clusterRoleBinding('c', 'ClusterRole/all', [{ kind: 'Robot', name: 'alice', namespace: '' }]),
  );
  t.match(decide(index, alice, question('get', 'pods')), {
    decision: 'noOpinion',
    reason:
      'RBAC: [role.rbac.authorization.k8s.io "all" not found, unsupported role reference kind: "Robot"]',
  });
});

t.test('D117: the ClusterRoleBinding is named first, and the first subject that matches', async (t) => {
  const index = indexOf(
    clusterRole('all', EVERYTHING),
    roleBinding('ns1', 'a', 'ClusterRole/all', [user('alice')]),
    clusterRoleBinding('z', 'ClusterRole/all', [group('system:authenticated'), user('alice')]),
  );
  t.match(decide(index, alice, question('get', 'pods', 'ns1')), {
    reason: 'RBAC: allowed by ClusterRoleBinding "z" of ClusterRole "all" to Group "system:authenticated"',
  });
});

t.test('D121: in Arktos only bindings of the own tenant count, and only for the own tenant', async (t) => {
  const everywhere = [user('acme:alice')];
  const index = indexOf(
    clusterRole('all', EVERYTHING, { tenant: 'beta' }),
    clusterRoleBinding('b', 'ClusterRole/all', everywhere, 'beta'),
    clusterRole('read', [rule('get', 'pods')], { tenant: 'acme' }),
    clusterRoleBinding('b', 'ClusterRole/read', everywhere, 'acme'),
  );
  const alice = rbacUser('acme:alice', [], 'acme');
  const ask = (verb: string, tenant: string) =>
    decide(index, alice, question(verb, 'pods', 'default', { tenant })).decision;
  t.equal(ask('get', 'acme'), 'allow');
  t.equal(ask('delete', 'acme'), 'noOpinion');
  t.equal(ask('get', 'beta'), 'noOpinion');
  t.equal(decide(index, alice, { verb: 'get', path: '/version' }).decision, 'noOpinion');
});

t.test("a RoleBinding of Arktos' system tenant counts in the same namespace of every tenant", async (t) => {
  const index = indexOf(
    clusterRole('read', [rule('get', 'pods')], { tenant: 'system' }),
    roleBinding('default', 'b', 'ClusterRole/read', [user('system:stonegate:dora')], 'system'),
  );
  const dora = rbacUser('system:stonegate:dora', [], 'system');
  const ask = (place: string, tenant: string) =>
    decide(index, dora, question('get', 'pods', place, { tenant })).decision;
  t.equal(ask('default', 'acme'), 'allow');
  t.equal(ask('default', 'globex'), 'allow');
  t.equal(ask('kube-system', 'acme'), 'noOpinion');
});

t.test('a user and a group are never taken for each other, whatever their names are', async (t) => {
  const all = clusterRole('all', EVERYTHING);
  const mayDelete = (name: string, groups: readonly string[], ...subjects: ReturnType<typeof user>[]) =>
    allows(
      indexOf(all, clusterRoleBinding('b', 'ClusterRole/all', subjects)),
      rbacUser(name, [...groups]),
      question('delete', 'secrets', 'a'),
    );
  // Both ways to find bindings: by the bindings of the place, and by the keys of the user.
  const others = Array.from({ length: 5 }, (_, at) => user(`other-${at}`));
  for (const more of [[], others]) {
    t.notOk(mayDelete('x', ['user:alice'], user('alice'), ...more));
    t.notOk(mayDelete('alice', ['x'], group('user:alice'), ...more));
    t.notOk(mayDelete('x', ['group:devs'], group('devs'), ...more));
    t.notOk(mayDelete('x', ['devs'], group('group:devs'), ...more));
    t.notOk(mayDelete('x', ['user:a'], group('group:user:a'), ...more));
    t.ok(mayDelete('x', ['user:alice'], group('user:alice'), ...more));
    t.ok(mayDelete('x', ['group:devs'], group('group:devs'), ...more));
    t.ok(mayDelete('user:alice', [], user('user:alice'), ...more));
    t.ok(mayDelete('system:serviceaccount:a:b', [], serviceAccount('b', 'a'), ...more));
    t.notOk(mayDelete('system:serviceaccount:a:bb', [], serviceAccount('b', 'a'), ...more));
    t.notOk(mayDelete('system:serviceaccount:ab:b', [], serviceAccount('b:b', 'a'), ...more));
  }
});
