/** One tenant, or one namespace, must not fill the memory of the index. */
import fc from 'fast-check';
import t from 'tap';
import type { StoredObject } from '../../../src/api/rbac-v1.ts';
import { type SubjectByNamespace, uniformSubject } from '../../../src/rbac/attributes.ts';
import { decide } from '../../../src/rbac/decide.ts';
import { type BoundedOwner, sizeOf } from '../../../src/rbac/index-bounds.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  listInto,
  namespace,
  nextRevision,
  question,
  rbacUser,
  role,
  roleBinding,
  serviceAccount,
  user,
} from '../../support/rbac-objects.ts';

const RULE = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const MUCH = { objects: 1_000, bytes: 1_000_000 };

function bounded(bounds: { objects: number; bytes: number }, ...objects: readonly StoredObject[]) {
  const told: BoundedOwner[] = [];
  const index = new RBACIndex({ bounds, onLeftOut: (owner) => told.push(owner) });
  const list = (...listed: readonly StoredObject[]) => listInto(index, listed);
  list(...objects);
  return { index, told, list };
}

function isUndecided(index: RBACIndex, subject: SubjectByNamespace): boolean {
  return index.undecidedNamespaces(subject).length > 0;
}

t.test('a tenant with too many objects is left out in part; other tenants are not', async (t) => {
  const { index, told, list } = bounded({ ...MUCH, objects: 2 });
  const own = ['a', 'b', 'c', 'd'].map((name) => role('n', name, [RULE], 'acme'));
  for (const object of own) index.put({ ...object, revision: nextRevision() });
  const other = role('n', 'a', [RULE], 'globex');
  index.put({ ...other, revision: nextRevision() });
  t.equal(index.countOf('roles'), 3);
  t.strictSame(told, [{ tenant: 'acme', namespace: '' }], 'once');
  t.equal(index.partialOwners, 1);
  t.ok(index.isPartialFor(uniformSubject(rbacUser('acme:alice', [], 'acme'))));
  t.notOk(index.isPartialFor(uniformSubject(rbacUser('globex:gina', [], 'globex'))));
  list(...own.slice(2), other);
  t.equal(index.partialOwners, 0, 'a list in which all fits makes it complete');
  t.equal(index.countOf('roles'), 3);
});

t.test(
  'without tenants the bound is that of a namespace, and concerns who has a binding in it',
  async (t) => {
    const first = roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]);
    const { index } = bounded(
      { ...MUCH, objects: 1 },
      first,
      roleBinding('b', 'x', 'ClusterRole/view', [user('bob')]),
    );
    index.put(roleBinding('a', 'y', 'ClusterRole/view', [user('carol')]));
    t.equal(index.countOf('rolebindings'), 2);
    t.ok(isUndecided(index, uniformSubject(rbacUser('alice'))));
    t.notOk(isUndecided(index, uniformSubject(rbacUser('bob'))));
  },
);

t.test('a user is concerned whose only binding in the namespace is left out', async (t) => {
  const first = roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]);
  const left = roleBinding('a', 'y', 'ClusterRole/view', [group('team'), serviceAccount('ci')]);
  const { index, list } = bounded({ ...MUCH, objects: 1 }, first, left);
  const isPartialFor = (name: string, ...groups: string[]) =>
    isUndecided(index, uniformSubject(rbacUser(name, groups)));
  t.ok(isPartialFor('carol', 'team'));
  t.ok(isPartialFor('system:serviceaccount:a:ci'));
  t.notOk(isPartialFor('carol', 'other'));
  list(first, roleBinding('a', 'z', 'ClusterRole/view', [user('dave')]));
  t.notOk(isPartialFor('carol', 'team'), 'another list does not have the binding');
  t.ok(isPartialFor('dave'));
  list(first);
  t.notOk(isPartialFor('dave'));
});

t.test('roles that are looked up concern a user in their own namespace only', async (t) => {
  const objects = [
    roleBinding('a', 'x', 'ClusterRole/view', [group('readers')]),
    roleBinding('a', 'y', 'ClusterRole/view', [group('writers')]),
  ];
  const { index } = bounded({ ...MUCH, objects: 1 }, ...objects);
  const alice = rbacUser('alice');
  for (const held of ['readers', 'writers']) {
    const inProject = rbacUser('alice', [held]);
    const subject = (name: string) => ({
      cluster: alice,
      other: alice,
      namespaces: new Map([[name, inProject]]),
    });
    t.ok(isUndecided(index, subject('a')), held);
    t.notOk(isUndecided(index, subject('b')), held);
    t.ok(isUndecided(index, { cluster: alice, other: inProject, namespaces: new Map() }), held);
    t.notOk(
      isUndecided(index, { cluster: inProject, other: alice, namespaces: new Map([['a', alice]]) }),
      'no request in the namespace is made with the groups of the cluster',
    );
  }
});

t.test('if too many subjects are left out to be told apart, every user is concerned', async (t) => {
  const first = roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]);
  const many = Array.from({ length: 200 }, (_, number) => user(`user-${number}`));
  const { index, list } = bounded(
    { objects: 1, bytes: 16 * 1_000 },
    first,
    roleBinding('a', 'y', 'ClusterRole/view', many),
  );
  const isPartialFor = (name: string) => isUndecided(index, uniformSubject(rbacUser(name)));
  t.ok(isPartialFor('zoe'));
  list(first, roleBinding('a', 'z', 'ClusterRole/view', [user('dave')]));
  list(first, roleBinding('a', 'z', 'ClusterRole/view', [user('dave')]));
  t.notOk(isPartialFor('zoe'));
  t.ok(isPartialFor('dave'));
});

t.test('questions about other tenants and namespaces are not concerned', async (t) => {
  const shared = bounded(
    { ...MUCH, objects: 1 },
    roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]),
    roleBinding('a', 'y', 'ClusterRole/view', [user('bob')]),
  ).index;
  t.ok(shared.isPartialIn('', { namespace: 'a' }));
  t.ok(shared.isPartialIn('', 'all'));
  t.notOk(shared.isPartialIn('', { namespace: 'b' }));
  t.notOk(shared.isPartialIn('', { namespace: '' }), 'only cluster-wide bindings count');
  const arktos = bounded(
    { ...MUCH, objects: 1 },
    role('a', 'x', [RULE], 'acme'),
    role('b', 'x', [RULE], 'acme'),
  ).index;
  t.ok(arktos.isPartialIn('acme', { namespace: 'a' }));
  t.ok(arktos.isPartialIn('acme', { namespace: '' }));
  t.notOk(arktos.isPartialIn('globex', 'all'));
});

t.test('a Namespace is known even if nothing more of it is held', async (t) => {
  const web = namespace('web');
  const { index } = bounded({ objects: 1, bytes: 10_000 }, web, role('web', 'x', [RULE]));
  t.equal(index.countOf('namespaces'), 1);
  t.equal(index.countOf('roles'), 1);
  t.equal(index.partialOwners, 0);
  index.put({ ...web, json: 'x'.repeat(20_000), revision: nextRevision() });
  t.equal(index.countOf('namespaces'), 1);
});

t.test('cluster-wide objects and the system tenant have no bound', async (t) => {
  const { index, told } = bounded(
    { objects: 1, bytes: 1 },
    clusterRole('a', [RULE]),
    clusterRole('b', [RULE]),
    clusterRole('a', [RULE], { tenant: 'system' }),
    clusterRole('b', [RULE], { tenant: 'system' }),
  );
  t.equal(index.countOf('clusterroles'), 4);
  t.strictSame(told, []);
});

t.test('an object that grows beyond the bound takes its earlier rights with it', async (t) => {
  const binding = clusterRoleBinding('x', 'ClusterRole/view', [user('alice')], 'acme');
  const view = clusterRole('view', [RULE], { tenant: 'acme' });
  const { index } = bounded({ objects: 10, bytes: sizeOf(view) + sizeOf(binding) + 10 }, view, binding);
  const may = () =>
    decide(index, rbacUser('alice', [], 'acme'), question('get', 'pods', '', { tenant: 'acme' })).decision;
  t.equal(may(), 'allow');
  index.put({ ...view, rules: Array.from({ length: 100 }, () => RULE), revision: nextRevision() });
  t.equal(may(), 'noOpinion', 'what it grants now is not known');
  index.put({ ...view, revision: nextRevision() });
  t.equal(may(), 'allow', 'it fits again');
});

t.test(
  'whatever comes and goes, an index never holds more than the bound, nor what does not exist',
  async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const step = fc.record({
      name: fc.constantFrom(...names),
      isPut: fc.boolean(),
      rules: fc.integer({ min: 0, max: 20 }),
      listed: fc.integer({ min: 0, max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const bounds = { objects: 4, bytes: 6_000 };
        const { index } = bounded(bounds, namespace('n', { tenant: 'acme' }));
        const existing = new Map<string, StoredObject>();
        for (const { name, isPut, rules, listed } of steps) {
          const object = role(
            'n',
            name,
            Array.from({ length: rules }, () => RULE),
            'acme',
          );
          if (isPut) existing.set(name, object);
          else existing.delete(name);
          if (listed === 0) index.replace('roles', existing.values(), nextRevision());
          else if (isPut) index.put(object);
          else index.delete(object);
          const held = [
            ...index.objectsOf('acme').all('roles'),
            ...index.objectsOf('acme').all('namespaces'),
          ];
          const bytes = held.reduce((sum, each) => sum + sizeOf(each), 0);
          if (held.length > bounds.objects || bytes > bounds.bytes) return false;
          for (const each of index.objectsOf('acme').all('roles'))
            if (existing.get(each.name)?.uid !== each.uid) return false;
          if (index.partialOwners === 0 && index.countOf('roles') !== existing.size) return false;
        }
        return true;
      }),
    );
  },
);

t.test('the names of objects and roles count, which the API server does not bound', async (t) => {
  const name = 'x'.repeat(100_000);
  t.ok(sizeOf(role('a', name, [])) > name.length);
  t.ok(sizeOf(roleBinding('a', name, 'Role/x', [])) > name.length);
  t.ok(sizeOf(roleBinding('a', 'x', `Role/${name}`, [])) > name.length);
});
