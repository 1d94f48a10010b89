import t from 'tap';
import { uniformSubject } from '../../../src/rbac/attributes.ts';
import { heldRoles } from '../../../src/rbac/held-roles.ts';
import { rule } from '../../support/policy-rule.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
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
    clusterRole('reader', [rule('get', '*', RBAC)]),
    clusterRoleBinding('reader', 'ClusterRole/reader', [user('alice')]),
    role('p1', 'local', []),
    role('p2', 'local', []),
    roleBinding('p1', 'local', 'Role/local', [group('member')]),
    roleBinding('p2', 'local', 'Role/local', [group('member')]),
  );
  const subject = uniformSubject(rbacUser('alice'));
  const namespaces = new Map([['p1', rbacUser('alice', ['member'])]]);
  t.match(heldRoles(index, { ...subject, namespaces }).roles, [
    { name: 'local', namespaces: ['p1'] },
    { name: 'reader', everywhere: true },
  ]);
});
