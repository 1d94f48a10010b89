import { readFileSync } from 'node:fs';
import t from 'tap';
import { readSystemDefinitions, withForced, withVersions } from '../../../src/tenancy/system-definitions.ts';

const LABEL = 'arktos.futurewei.com/crd-sharing-policy';

t.test('groups and forced resources are read from a recorded list of definitions', async (t) => {
  const url = new URL(
    '../../conformance/arktos/recorded-custom-resources/crd-list-in-tenant.json',
    import.meta.url,
  );
  const list: unknown = JSON.parse(readFileSync(url, 'utf8')).response.body;
  t.same(readSystemDefinitions(list), new Map([['shared.io', new Set(['requests', 'fakes'])]]));
});

t.test('the value of the label is case-insensitive', async (t) => {
  for (const [policy, forced] of [
    ['forced', ['a']],
    ['Forced', ['a']],
    ['FORCED', ['a']],
    ['force', []],
    ['', []],
  ] as const) {
    const item = { metadata: { name: 'a.g.io', labels: { [LABEL]: policy } } };
    t.same(readSystemDefinitions({ items: [item] })?.get('g.io'), new Set(forced), String(policy));
  }
  t.same(readSystemDefinitions({ items: [{ metadata: { name: 'a.g.io' } }] })?.get('g.io'), new Set());
});

t.test('anything but a list of definitions is ignored', async (t) => {
  for (const list of [undefined, null, [], {}, { items: {} }, { items: [{}] }, { items: [{ metadata: {} }] }])
    t.equal(readSystemDefinitions(list), undefined);
});

t.test(
  'a version that is listed twice appears once, and the preferred version is one that remains',
  async (t) => {
    const versions = ['v2', 'v1', 'v1'].map((version) => ({ groupVersion: `g/${version}`, version }));
    const group = { name: 'g', versions, preferredVersion: { version: 'v2' } };
    t.same(withVersions(group, () => true)?.versions, versions.slice(0, 2));
    t.match(
      withVersions(group, (version) => version === 'v1'),
      { preferredVersion: { version: 'v1' } },
    );
    t.equal(
      withVersions(group, () => false),
      undefined,
    );
  },
);

t.test('a forced resource replaces the tenant’s own resource of the same name', async (t) => {
  const own = { groupVersion: 'g/v1', resources: [{ name: 'a' }, { name: 'a/scale' }, { name: 'b' }] };
  const shared = [
    { name: 'a', namespaced: true },
    { name: 'a/status', namespaced: true },
  ];
  const system = { groupVersion: 'g/v1', resources: [...shared, { name: 'hidden' }] };
  t.same(withForced(own, system, new Set(['a']))?.resources, [{ name: 'b' }, ...shared]);
  t.same(withForced(undefined, system, new Set(['a']))?.resources, shared);
  t.equal(withForced(own, system, new Set(['c'])), own);
  t.equal(withForced(undefined, system, new Set()), undefined);
});
