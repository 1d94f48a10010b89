import t from 'tap';
import type { PolicyRule } from '../../../src/kubernetes/kubernetes-object.ts';
import { uniformSubject } from '../../../src/rbac/attributes.ts';
import { heldRoles } from '../../../src/rbac/held-roles.ts';
import { rule } from '../../support/policy-rule.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  rbacObjects,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../support/rbac-objects.ts';

const RBAC = 'rbac.authorization.k8s.io';

t.test('a user sees the roles that they may read, and the number of the others', async (t) => {
  const index = indexOf(
    clusterRole('edit', []),
    clusterRole('secret-project', []),
    clusterRole('reader', [
      { verbs: ['get'], apiGroups: [RBAC], resources: ['clusterroles'], resourceNames: ['edit', 'reader'] },
    ]),
    role('a', 'local', [rule('get', 'roles', RBAC)]),
    role('b', 'local', []),
    clusterRoleBinding('reader', 'ClusterRole/reader', [group('devs')]),
    clusterRoleBinding('secret', 'ClusterRole/secret-project', [user('alice')]),
    roleBinding('b', 'edit', 'ClusterRole/edit', [user('alice')]),
    roleBinding('a', 'edit', 'ClusterRole/edit', [group('devs')]),
    roleBinding('a', 'local', 'Role/local', [user('alice')]),
    roleBinding('b', 'local', 'Role/local', [user('alice')]),
    roleBinding('b', 'missing', 'Role/missing', [user('alice')]),
    roleBinding('c', 'other', 'ClusterRole/edit', [user('bob')]),
  );
  t.strictSame(heldRoles(index, uniformSubject(rbacUser('alice', ['devs']))), {
    roles: [
      { kind: 'ClusterRole', name: 'edit', everywhere: false, namespaces: ['a', 'b'] },
      { kind: 'Role', name: 'local', everywhere: false, namespaces: ['a'] },
      { kind: 'ClusterRole', name: 'reader', everywhere: true, namespaces: [] },
    ],
    hiddenRoles: 2,
    moreRoles: 0,
  });
});

t.test('if groups depend on the namespace, a role counts where its group counts', async (t) => {
  const index = indexOf(
    ...rbacObjects(`
      ClusterRole reader: get * ${RBAC}
      ClusterRole auditor
      ClusterRole outsider
      Role p5/local
      Role p3/local
      Role p2/local
      Role p1/local
      ClusterRoleBinding reader: ClusterRole/reader to User alice
      ClusterRoleBinding reader-too: ClusterRole/reader to Group member
      ClusterRoleBinding auditor: ClusterRole/auditor to Group member
      RoleBinding p1/local: Role/local to Group member
      RoleBinding p1/outside: ClusterRole/outsider to Group outside
      RoleBinding p2/local: Role/local to Group member
      RoleBinding p3/local: Role/local to Group outside
      RoleBinding p5/local: Role/local to Group outside`),
  );
  const cluster = rbacUser('alice');
  const other = rbacUser('alice', ['outside']);
  const member = rbacUser('alice', ['member']);
  const namespaces = new Map(['p1', 'p4'].map((name) => [name, member]));
  const local = { kind: 'Role', name: 'local', everywhere: false };
  t.strictSame(heldRoles(index, { cluster, other, namespaces }).roles, [
    { kind: 'ClusterRole', name: 'auditor', everywhere: false, namespaces: ['p1', 'p4'] },
    { ...local, namespaces: ['p1'] },
    { ...local, namespaces: ['p3'] },
    { ...local, namespaces: ['p5'] },
    { kind: 'ClusterRole', name: 'reader', everywhere: true, namespaces: [] },
  ]);
});

t.test('of very many roles the first hundred are shown, and a thousand are looked at', async (t) => {
  const held = (count: number, rules: readonly PolicyRule[]) => {
    const names = Array.from({ length: count }, (_, at) => `r${String(at).padStart(4, '0')}`);
    const index = indexOf(
      ...names.flatMap((name) => [
        clusterRole(name, rules),
        clusterRoleBinding(name, `ClusterRole/${name}`, [user('alice')]),
      ]),
    );
    const { roles, ...numbers } = heldRoles(index, uniformSubject(rbacUser('alice')));
    return { shown: roles.length, last: roles.at(-1)?.name, ...numbers };
  };
  t.same(held(150, [rule('get', 'clusterroles', RBAC)]), {
    shown: 100,
    last: 'r0099',
    hiddenRoles: 0,
    moreRoles: 50,
  });
  t.same(held(1_001, []), { shown: 0, last: undefined, hiddenRoles: 1_000, moreRoles: 1 });
});
