import t from 'tap';
import { compileAccessRules as compile } from '../../../../src/features/access-rules/access-rules.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  namespace,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const compileAccessRules = (...given: Parameters<typeof compile>) => compile(...given).rules;

const view = clusterRole('view', [
  { verbs: ['get', 'list', 'watch'], apiGroups: ['', 'apps'], resources: ['pods', 'deployments'] },
]);
const edit = clusterRole('edit', [
  { verbs: ['get', 'list', 'watch'], apiGroups: ['apps', ''], resources: ['deployments', 'pods'] },
  { verbs: ['create', 'delete'], apiGroups: [''], resources: ['pods'] },
]);
const alice = uniformSubject(rbacUser('alice', ['devs']));

t.test('one role in thousands of namespaces is one entry', async (t) => {
  const names = Array.from({ length: 5_000 }, (_, at) => `team-${String(at).padStart(4, '0')}`);
  const index = indexOf(
    view,
    ...names.map((name) => roleBinding(name, 'v', 'ClusterRole/view', [user('alice')])),
  );
  t.strictSame(compileAccessRules(index, alice, { verb: 'list' }), {
    everywhere: [],
    cluster: [],
    namespaces: [{ names, rules: [{ apiGroups: ['', 'apps'], resources: ['deployments', 'pods'] }] }],
    otherNamespaces: [],
  });
});

t.test('rules that apply everywhere are not repeated in a namespace', async (t) => {
  const index = indexOf(
    view,
    edit,
    namespace('a'),
    clusterRoleBinding('v', 'ClusterRole/view', [group('devs')]),
    roleBinding('a', 'e', 'ClusterRole/edit', [user('alice')]),
    roleBinding('b', 'v', 'ClusterRole/view', [user('alice')]),
  );
  t.strictSame(compileAccessRules(index, alice, { verb: '*' }), {
    everywhere: [
      { verbs: ['get', 'list', 'watch'], apiGroups: ['', 'apps'], resources: ['deployments', 'pods'] },
    ],
    cluster: [],
    namespaces: [
      { names: ['a'], rules: [{ verbs: ['create', 'delete'], apiGroups: [''], resources: ['pods'] }] },
    ],
    otherNamespaces: [],
  });
});

t.test(
  'a short rule that stands for hundreds of thousands of grants is left out, and the result says that it is cut',
  async (t) => {
    const names = (prefix: string) => Array.from({ length: 60 }, (_, at) => `${prefix}${at}`);
    const huge = { verbs: names('v'), apiGroups: names('g'), resources: names('r') };
    const pods = { verbs: ['list'], apiGroups: [''], resources: ['pods'] };
    const index = indexOf(
      namespace('a'),
      role('a', 'huge', [huge, pods]),
      roleBinding('a', 'x', 'Role/huge', [user('alice')]),
    );
    const compiled = compile(index, uniformSubject(rbacUser('alice')), { verb: '*' });
    t.ok(compiled.isCut);
    t.match(compiled.rules.namespaces, [{ names: ['a'], rules: [pods] }]);
    t.notOk(compile(index, uniformSubject(rbacUser('alice')), { verb: 'list' }).isCut);
  },
);

t.test('namespaces of which nothing is selected count too: very many are cut', async (t) => {
  const index = indexOf(
    ...Array.from({ length: 9_000 }, (_, at) => [
      role(`n${at}`, 'r', [{ verbs: ['get'], apiGroups: [''], resources: [`r${at}`] }]),
      roleBinding(`n${at}`, 'b', 'Role/r', [user('alice')]),
    ]).flat(),
  );
  t.ok(compile(index, uniformSubject(rbacUser('alice')), { verb: 'list' }).isCut);
});
