/** Decisions that test/integration/rbac-index.test.ts cannot compare with a real kube-apiserver. */
import t from 'tap';
import { allows, decide } from '../../../src/rbac/decide.ts';
import { rule } from '../../support/policy-rule.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  question,
  rbacUser,
  roleBinding,
  serviceAccount,
  user,
} from '../../support/rbac-objects.ts';

const EVERYTHING = [rule('*', '*', '*')];
const alice = rbacUser('alice', ['system:authenticated']);

const READ_PODS = [rule('get', 'pods')];

t.test('D115: objects that no API server would create are ignored', async (t) => {
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

t.test(
  'D121: in Arktos, only bindings of the user’s own tenant count, and only in that tenant',
  async (t) => {
    const everywhere = [user('acme:alice')];
    const index = indexOf(
      clusterRole('all', EVERYTHING, { tenant: 'beta' }),
      clusterRoleBinding('b', 'ClusterRole/all', everywhere, 'beta'),
      clusterRole('read', READ_PODS, { tenant: 'acme' }),
      clusterRoleBinding('b', 'ClusterRole/read', everywhere, 'acme'),
    );
    const alice = rbacUser('acme:alice', [], 'acme');
    const pods = (verb: string, tenant: string) => question(verb, 'pods', 'default', { tenant });
    for (const [asked, decision] of [
      [pods('get', 'acme'), 'allow'],
      [pods('delete', 'acme'), 'noOpinion'],
      [pods('get', 'beta'), 'noOpinion'],
      [{ verb: 'get', path: '/version' }, 'noOpinion'],
    ] as const) {
      t.equal(decide(index, alice, asked).decision, decision);
      t.equal(allows(index, alice, asked), decision === 'allow', 'without the reason too');
    }
  },
);

t.test("a RoleBinding of Arktos' system tenant counts in the same namespace of every tenant", async (t) => {
  const index = indexOf(
    clusterRole('read', READ_PODS, { tenant: 'system' }),
    roleBinding('default', 'b', 'ClusterRole/read', [user('system:stonegate:dora')], 'system'),
  );
  const dora = rbacUser('system:stonegate:dora', [], 'system');
  const ask = (place: string, tenant: string) =>
    decide(index, dora, question('get', 'pods', place, { tenant })).decision;
  t.equal(ask('default', 'acme'), 'allow');
  t.equal(ask('default', 'globex'), 'allow');
  t.equal(ask('kube-system', 'acme'), 'noOpinion');
});

t.test('users and groups are never confused, whatever their names', async (t) => {
  const all = clusterRole('all', EVERYTHING);
  const mayDelete = (name: string, groups: readonly string[], subject: ReturnType<typeof user>) =>
    allows(
      indexOf(all, clusterRoleBinding('b', 'ClusterRole/all', [subject])),
      rbacUser(name, [...groups]),
      question('delete', 'secrets', 'a'),
    );
  t.notOk(mayDelete('x', ['user:alice'], user('alice')));
  t.notOk(mayDelete('alice', ['x'], group('user:alice')));
  t.notOk(mayDelete('x', ['group:devs'], group('devs')));
  t.notOk(mayDelete('x', ['devs'], group('group:devs')));
  t.notOk(mayDelete('x', ['user:a'], group('group:user:a')));
  t.ok(mayDelete('x', ['user:alice'], group('user:alice')));
  t.ok(mayDelete('x', ['group:devs'], group('group:devs')));
  t.ok(mayDelete('user:alice', [], user('user:alice')));
  t.ok(mayDelete('system:serviceaccount:a:b', [], serviceAccount('b', 'a')));
  t.notOk(mayDelete('system:serviceaccount:a:bb', [], serviceAccount('b', 'a')));
  t.notOk(mayDelete('system:serviceaccount:ab:b', [], serviceAccount('b:b', 'a')));
});
