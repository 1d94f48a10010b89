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
import { tokenScope } from '../../../support/token-scope.ts';

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

t.test('namespaces with equal rules are together, whatever roles grant them', async (t) => {
  const copy = role('b', 'copy', [
    { verbs: ['list'], apiGroups: ['apps'], resources: ['pods'] },
    { verbs: ['list'], apiGroups: [''], resources: ['pods', 'deployments'] },
    { verbs: ['*'], apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['web'] },
    { verbs: ['list'], apiGroups: ['apps'], resources: ['deployments'] },
  ]);
  const index = indexOf(
    view,
    edit,
    copy,
    roleBinding('a', 'x', 'ClusterRole/edit', [user('alice')]),
    roleBinding('b', 'x', 'Role/copy', [user('alice')]),
    roleBinding('c', 'x', 'ClusterRole/view', [group('devs')]),
  );
  t.match(compileAccessRules(index, alice, { verb: 'list' }).namespaces, [
    { names: ['a', 'b', 'c'], rules: [{ apiGroups: ['', 'apps'], resources: ['deployments', 'pods'] }] },
  ]);
});

t.test('what a user may do everywhere is not repeated in a namespace', async (t) => {
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

t.test('if groups depend on the namespace, each has the rules of its own groups', async (t) => {
  const everywhere = clusterRoleBinding('all', 'ClusterRole/view', [group('authenticated')]);
  const domain = clusterRoleBinding('domain', 'ClusterRole/edit', [group('domain-admin')]);
  const project = roleBinding('p1', 'p', 'ClusterRole/edit', [group('p1-member')]);
  const index = indexOf(view, edit, everywhere, domain, project);
  const subject = {
    cluster: rbacUser('alice', ['authenticated', 'domain-admin']),
    other: rbacUser('alice', ['authenticated', 'domain-admin']),
    namespaces: new Map([
      ['p1', rbacUser('alice', ['authenticated', 'p1-member'])],
      ['p2', rbacUser('alice', ['authenticated'])],
    ]),
  };
  const create = { apiGroups: [''], resources: ['pods'], verbs: ['create', 'delete'] };
  t.match(compileAccessRules(index, subject, { verb: '*' }), {
    everywhere: [{ verbs: ['get', 'list', 'watch'] }],
    cluster: [create],
    otherNamespaces: [create],
    namespaces: [{ names: ['p2'], rules: [] }],
  });
});

t.test('a short rule that stands for hundreds of thousands of grants is left out, and told', async (t) => {
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
});

t.test('an access token has the rules of its owner, in the namespaces that its scope names', async (t) => {
  const index = indexOf(edit, clusterRoleBinding('all', 'ClusterRole/edit', [user('alice')]));
  const scope = tokenScope('namespace/a/read namespace/b/edit');
  const token = uniformSubject({ ...rbacUser('alice'), scope });
  t.strictSame(compileAccessRules(index, token, { verb: 'delete' }), {
    everywhere: [],
    cluster: [],
    namespaces: [{ names: ['b'], rules: [{ apiGroups: [''], resources: ['pods'] }] }],
    otherNamespaces: [],
  });
  t.match(compileAccessRules(index, token, { verb: 'list' }).namespaces, [{ names: ['a', 'b'] }]);
  const everywhere = uniformSubject({ ...rbacUser('alice'), scope: tokenScope('read') });
  const rules = [{ apiGroups: ['', 'apps'], resources: ['deployments', 'pods'] }];
  t.match(compileAccessRules(index, everywhere, { verb: 'list' }), {
    cluster: rules,
    otherNamespaces: rules,
  });
});
