/** A tenant must not fill the memory of the index: beyond the bound, its index is off. */
import fc from 'fast-check';
import t from 'tap';
import { INDEXED_RESOURCES, type StoredObject } from '../../../src/kubernetes/rbac-v1.ts';
import { sizeOf } from '../../../src/rbac/index-bound.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import {
  clusterRole,
  listInto,
  namespace,
  nextRevision,
  role,
  roleBinding,
  user,
} from '../../support/rbac-objects.ts';

const RULE = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const SIZE = sizeOf(role('n', 'a', [RULE], 'acme'));

/** @param roles the number of roles that the index has room for */
function bounded(roles: number, ...objects: readonly StoredObject[]) {
  const index = new RBACIndex({ maxBytes: roles * SIZE });
  listInto(index, objects);
  const resets: string[] = [];
  const changed: string[] = [];
  index.subscribe({ reset: (tenant) => resets.push(tenant), changed: ({ tenant }) => changed.push(tenant) });
  return { index, resets, changed };
}

const roles = (tenant: string, ...names: readonly string[]) =>
  names.map((name) => role('n', name, [RULE], tenant));

function putRole(index: RBACIndex, tenant: string, name: string) {
  index.put({ ...role('n', name, [RULE], tenant), revision: nextRevision() });
}

t.test('a tenant beyond a quarter of the bound has no index; other tenants are not affected', async (t) => {
  const { index, resets, changed } = bounded(8, ...roles('acme', 'a', 'b'), ...roles('globex', 'a'));
  t.notOk(index.isOff('acme'));
  putRole(index, 'acme', 'c');
  t.ok(index.isOff('acme'));
  t.equal(index.tenantsOff, 1);
  t.strictSame([...index.objectsOf('acme').roles], []);
  t.notOk(index.isOff('globex'));
  t.equal(index.countOf('roles'), 1);
  t.equal(index.size, SIZE, 'objects that do not fit take no memory');
  t.strictSame(resets, ['acme']);
  t.strictSame(changed, [], 'no object is reported as deleted');
});

t.test('if all tenants together are beyond the bound, the largest has no index', async (t) => {
  const large = ['a', 'b', 'c', 'd'].flatMap((tenant) => roles(tenant, 'x', 'y'));
  const { index, resets } = bounded(8, ...large);
  putRole(index, 'small', 'x');
  t.notOk(index.isOff('small'));
  t.strictSame(resets, ['a']);
  t.equal(index.size, 7 * SIZE);
});

t.test('if the API server has no tenants, the whole index is off', async (t) => {
  const { index } = bounded(4, ...roles('', 'a', 'b', 'c', 'd'));
  t.notOk(index.isOff(''));
  putRole(index, '', 'e');
  t.ok(index.isOff(''));
  t.ok(index.isSynced);
  t.equal(index.size, 0);
});

t.test('the index is on again once all resources have been listed again and everything fits', async (t) => {
  const few = roles('acme', 'a');
  const { index, resets, changed } = bounded(8, ...roles('acme', 'a', 'b'));
  const earlier = index.beginList('clusterrolebindings', nextRevision());
  putRole(index, 'acme', 'c');
  earlier.end();
  putRole(index, 'acme', 'd');
  index.beginList('clusterrolebindings', nextRevision());
  t.equal(index.size, 0, 'an event alone does not turn the index on');
  for (const resource of INDEXED_RESOURCES) {
    t.ok(index.isOff('acme'));
    t.strictSame([...index.objectsOf('acme').roles], []);
    index.replace(resource, resource === 'roles' ? few : [], nextRevision());
  }
  t.notOk(index.isOff('acme'));
  t.strictSame(
    [...index.objectsOf('acme').roles].map(({ name }) => name),
    ['a'],
  );
  t.strictSame(resets, ['acme', 'acme']);
  t.strictSame(changed, []);
  putRole(index, 'acme', 'b');
  t.equal(index.countOf('roles'), 2, 'events are followed again');
});

t.test('every text that a tenant can write counts with its size against the bound', async (t) => {
  const texts: readonly ((text: string) => StoredObject)[] = [
    (text) => namespace(text),
    (text) => namespace('a', { labels: { [text]: '' } }),
    (text) => role('n', text, []),
    (text) => ({ ...role('n', 'a', []), labels: { a: text } }),
    (text) => clusterRole('a', [], { aggregates: [{ matchLabels: { a: text } }] }),
    (text) => roleBinding('n', text, 'Role/a', []),
    (text) => roleBinding('n', 'a', `Role/${text}`, []),
    ...['User', 'Group', 'ServiceAccount', 'Other'].flatMap((kind) => [
      (text: string) => roleBinding('n', 'a', 'Role/a', [{ kind, name: text, namespace: '' }]),
      (text: string) => roleBinding('n', 'a', 'Role/a', [{ kind, name: '', namespace: text }]),
    ]),
    ...(['verbs', 'apiGroups', 'resources', 'resourceNames', 'nonResourceURLs'] as const).map(
      (field) => (text: string) => role('n', 'a', [RULE, { ...RULE, [field]: [text] }]),
    ),
  ];
  for (const [at, of] of texts.entries())
    for (const [text, bytes] of [
      ['x', 1],
      ['世', 2],
    ] as const)
      t.ok(sizeOf(of(text.repeat(1_000))) - sizeOf(of('')) >= 1_000 * bytes, `${at} ${text}`);
});

t.test(
  'an object that is too large counts, where it may grant something, until it is smaller or deleted',
  async (t) => {
    const large = { ...roleBinding('a', 'x', 'ClusterRole/view', []), isTooLarge: true as const };
    const { index } = bounded(100, large);
    t.equal(index.tooLarge, 1);
    t.ok(index.hasTooLarge('', { namespace: 'a' }));
    t.ok(index.hasTooLarge('', 'all'));
    t.notOk(index.hasTooLarge('', { namespace: 'b' }));
    t.notOk(index.hasTooLarge('acme', 'all'));
    const { isTooLarge: _, ...small } = { ...large, subjects: [user('alice')], revision: nextRevision() };
    index.put(small);
    t.equal(index.tooLarge, 0);
    index.put({ ...clusterRole('view', []), isTooLarge: true });
    t.ok(index.hasTooLarge('', { namespace: 'b' }), 'a ClusterRole may be bound anywhere');
    index.delete({ ...clusterRole('view', []), revision: nextRevision() });
    t.notOk(index.hasTooLarge('', 'all'));
  },
);

t.test('after any changes, the index of a tenant contains all that exists, or nothing', async () => {
  const step = fc.record({
    tenant: fc.constantFrom('acme', 'globex'),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    isPut: fc.boolean(),
    rules: fc.integer({ min: 0, max: 6 }),
    listed: fc.integer({ min: 0, max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const maxBytes = 4 * 6_000;
      const index = new RBACIndex({ maxBytes });
      listInto(index, []);
      const existing = new Map<string, StoredObject>();
      for (const { tenant, name, isPut, rules, listed } of steps) {
        const rule = Array.from({ length: rules }, () => RULE);
        const object = isPut ? role('n', name, rule, tenant) : namespace(name, { tenant });
        const key = `${tenant} ${name}`;
        const known = existing.get(key);
        if (known !== undefined) index.delete({ ...known, revision: nextRevision() });
        existing.set(key, { ...object, revision: nextRevision() });
        if (listed < 2) listInto(index, [...existing.values()]);
        else index.put({ ...object, revision: nextRevision() });
        let size = 0;
        for (const each of ['acme', 'globex']) {
          const objects = index.objectsOf(each);
          const held = [...objects.all('roles'), ...objects.all('namespaces')];
          const wanted = [...existing.values()].filter((one) => one.tenant === each);
          const bytes = held.reduce((sum, one) => sum + sizeOf(one), 0);
          if (bytes > maxBytes / 4 || held.length !== (index.isOff(each) ? 0 : wanted.length)) return false;
          if (held.some(({ uid }) => wanted.every((one) => one.uid !== uid))) return false;
          size += bytes;
        }
        if (index.tenantsOff === 0 && index.size !== size) return false;
      }
      return true;
    }),
  );
});
