/** The tokens that a process knows: read from stored objects, which an operator may have changed. */
import t from 'tap';
import { parse } from 'yaml';
import { WITHOUT_TENANT_UIDS } from '../../../../src/features/tenant-uids.ts';
import { readToken, TokenStore } from '../../../../src/features/tokens/token-store.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { claimIdentity } from '../../../support/identities.ts';
import { eachRow } from '../../../support/rows.ts';

const METADATA = { name: 'abcd1234', uid: 'u', resourceVersion: '7' };
const SPEC = {
  ...parse(`
    {scopes: [read], tenant: acme, owner: 'acme:alice', signedIn: '2026-01-01T00:00:00Z',
    expires: '2026-02-01T00:00:00Z', secrets: [{digest: ab, until: '2026-01-02T00:00:00Z'}, {digest: cd}]}`),
  identity: JSON.stringify(claimIdentity('oidc:alice')),
};
const read = (spec = {}, metadata = {}) =>
  readToken({
    value: { metadata: { ...METADATA, ...metadata }, spec: { ...SPEC, ...spec } },
    text: () => '',
  });

t.test('a stored token is read', async (t) =>
  t.match(read().token, {
    ...{ id: 'abcd1234', uid: 'u', owner: 'acme:alice', signedInAt: Date.UTC(2026, 0, 1), lastUsedAt: 0 },
    secrets: [{ until: Date.UTC(2026, 0, 2) }, { until: Number.POSITIVE_INFINITY }],
  }),
);

t.test('a stored token that cannot be read counts as none', async (t) => {
  await eachRow(
    `
    {identity: '{}'}
    {identity: 'null'}
    {secrets: none}
    {expires: never}
    {scopes: read}`,
    (spec) => t.same(read(parse(spec)), { id: 'abcd1234', revision: 7 }, spec),
  );
  t.same(read({}, { uid: 5 }), { id: 'abcd1234', revision: 7 });
});

t.test('an object without a name is an error', async (t) => {
  for (const name of ['', 5]) t.throws(() => read({}, { name }), { message: /no name/ });
});

t.test('a token ends once: when it is revoked, deleted, unreadable or missing from a list', async (t) => {
  const ended: string[] = [];
  const clock = createFakeClock();
  const store = new TokenStore({ clock, onEnded: (id) => ended.push(id), tenants: WITHOUT_TENANT_UIDS });
  const of = (name: string, spec = {}) => read(spec, { name });
  const list = store.beginList();
  list.take(['a', 'b', 'c', 'd', 'e'].map((name) => of(name)));
  list.end();
  const key = store.get('a')?.ownerKey ?? '';
  store.put(of('a'));
  t.same([...store.ofOwner(key)].map(({ id }) => id).sort(), ['a', 'b', 'c', 'd', 'e']);
  t.same(ended, []);
  const revoked = { at: '2026-01-01T00:00:00Z', reason: 'lost' };
  store.put(of('a', { revoked }));
  store.put(of('b', { secrets: 'none' }));
  store.delete(of('c'));
  const next = store.beginList();
  next.take([of('a', { revoked }), of('d')]);
  next.end();
  store.delete(of('a'));
  t.same(ended, ['a', 'b', 'c', 'e']);
  t.same(
    [...store.ofOwner(key)].map(({ id }) => id),
    ['d'],
  );
  t.equal(store.revisionOf(of('d')), 7);
  t.equal(store.revisionOf(of('a')), undefined);
});
