/** One tenant, or one namespace, must not fill the memory of the index. */
import fc from 'fast-check';
import t from 'tap';
import type { StoredObject } from '../../../src/api/rbac-v1.ts';
import { decide } from '../../../src/rbac/decide.ts';
import { type BoundedOwner, sizeOf } from '../../../src/rbac/index-bounds.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import {
  clusterRole,
  clusterRoleBinding,
  namespace,
  nextRevision,
  question,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../support/rbac-objects.ts';

const RULE = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const MUCH = { objects: 1_000, bytes: 1_000_000 };

function bounded(bounds: { objects: number; bytes: number }, ...objects: readonly StoredObject[]) {
  const told: BoundedOwner[] = [];
  const index = new RBACIndex({ bounds, onLeftOut: (owner) => told.push(owner) });
  const list = (...listed: readonly StoredObject[]) => {
    for (const resource of [
      'namespaces',
      'roles',
      'clusterroles',
      'rolebindings',
      'clusterrolebindings',
    ] as const)
      index.replace(
        resource,
        listed.filter((object) => object.resource === resource),
        nextRevision(),
      );
  };
  list(...objects);
  return { index, told, list };
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
  t.ok(index.isPartialFor(rbacUser('acme:alice', [], 'acme')));
  t.notOk(index.isPartialFor(rbacUser('globex:gina', [], 'globex')));
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
    t.ok(index.isPartialFor(rbacUser('alice')));
    t.notOk(index.isPartialFor(rbacUser('bob')));
  },
);

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
