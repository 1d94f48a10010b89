import t from 'tap';
import { ObjectStore, storableObjects } from '../../../src/kubernetes/informer-store.ts';

const read = storableObjects((value) => {
  const { metadata, ignored }: { metadata: { tenant?: string; name: string }; ignored?: boolean } =
    JSON.parse(JSON.stringify(value));
  return ignored ? undefined : `${metadata.tenant ?? ''}/${metadata.name}`;
});

let revision = 100;
function thing(name: string, tenant = 'acme', more: object = {}) {
  revision += 1;
  const value = { metadata: { name, tenant, resourceVersion: String(revision) }, ...more };
  return read({ value, text: () => JSON.stringify(value) });
}

function storeWith(bounds = { objects: 100, bytes: 100_000 }) {
  const leftOut: string[] = [];
  const store = new ObjectStore<string>({ bounds, onLeftOut: (tenant) => leftOut.push(tenant) });
  return {
    store,
    leftOut,
    list(...objects: readonly ReturnType<typeof thing>[]) {
      const list = store.beginList();
      list.take(objects);
      list.end();
    },
  };
}

t.test('objects of the same name in two tenants are two objects', async (t) => {
  const { store, list } = storeWith();
  list(thing('a'), thing('a', 'globex'));
  t.same(store.values(), ['acme/a', 'globex/a']);
  store.delete(thing('a'));
  t.same(store.values(), ['globex/a']);
});

t.test('a list replaces all objects when it is complete', async (t) => {
  const { store, list } = storeWith();
  list(thing('a'));
  const next = store.beginList();
  next.take([thing('b')]);
  t.same(store.values(), ['acme/a']);
  next.end();
  t.same(store.values(), ['acme/b']);
});

t.test('an object that the reader starts to ignore is removed', async (t) => {
  const { store, list } = storeWith();
  list(thing('a'));
  store.put(thing('a', 'acme', { ignored: true }));
  t.same(store.values(), []);
});

t.test('an object that changes its tenant, or has none any more, is in one place at most', async (t) => {
  const { store, list } = storeWith();
  const placed = (tenant: string, value: string | undefined = tenant) => ({
    ...thing('a'),
    ...{ tenant, key: 'a', value },
  });
  list(placed('acme'));
  store.put(placed('globex'));
  t.same(store.values(), ['globex']);
  store.put({ ...placed(''), value: undefined });
  t.same(store.values(), []);
  store.put(placed('acme'));
  store.delete({ ...placed(''), value: undefined });
  t.same(store.values(), []);
});

t.test('an object without a valid name, tenant or revision cannot be read', async (t) => {
  for (const metadata of [
    { resourceVersion: '1' },
    { name: 7, resourceVersion: '1' },
    { name: 'a' },
    { name: 'a', tenant: 7, resourceVersion: '1' },
  ])
    t.throws(() => read({ value: { metadata }, text: () => '' }), /^an object|no number/);
});

t.test(
  'if a tenant has too many objects, none of them is stored, and all of the other tenants are',
  async (t) => {
    const { store, list, leftOut } = storeWith({ objects: 2, bytes: 100_000 });
    list(thing('a'), thing('b'), thing('c'), thing('d'), thing('x', 'globex'));
    t.same(store.values(), ['globex/x']);
    t.same(leftOut, ['acme']);
    t.ok(store.isIncomplete);
    store.delete(thing('a'));
    store.put(thing('b'));
    t.same(store.values(), ['globex/x'], 'this lasts until the next list');
    list(thing('a'));
    t.same(store.values(), ['acme/a']);
    t.notOk(store.isIncomplete);
  },
);

t.test('if the objects of a tenant are too large, none of them is stored', async (t) => {
  const { store, list } = storeWith({ objects: 100, bytes: 1_000 });
  list(thing('a'), thing('x', 'globex'));
  store.put(thing('a', 'acme', { spec: 'x'.repeat(1_000) }));
  t.same(store.values(), ['globex/x']);
});
