import fc from 'fast-check';
import t from 'tap';
import { tenantOfVouched, vouchedUser, vouchedUserCodec } from '../../../src/authentication/vouched-user.ts';

const ROBOT = {
  username: 'system:serviceaccount:default:robot',
  uid: 'u',
  groups: ['g'],
  extra: { k: ['v'] },
};
const ordinary = { isOrdinaryTenant: (word: string) => /^[a-z]+$/.test(word) && word !== 'system' };

function named(username: string) {
  return { user: { ...ROBOT, username } };
}

/** A JWT of that payload, as text. */
function jwt(payload: string): string {
  const encoded = (text: string) => Buffer.from(text).toString('base64url');
  return `${encoded('{"alg":"RS256"}')}.${encoded(payload)}.c2ln`;
}

t.test('a token’s tenant and end are remembered with its user', async (t) => {
  const token = jwt('{"exp":100,"kubernetes.io/serviceaccount/tenant":"acme"}');
  t.same(vouchedUser(token, ROBOT), { user: ROBOT, expiresAt: 100_000, tenantClaim: 'acme' });
});

t.test('a token that is no JWT has neither', async (t) => {
  t.same(vouchedUser('opaque', ROBOT), { user: ROBOT });
});

t.test('a claim that is no text is no tenant, and does not count as absent', async (t) => {
  for (const claim of ['1', 'null', '["acme"]', '{"a":"acme"}'])
    t.match(vouchedUser(jwt(`{"kubernetes.io/serviceaccount/tenant":${claim}}`), ROBOT), { tenantClaim: '' });
});

t.test('a token that two readers could read differently is nobody’s', async (t) => {
  const key = '"kubernetes.io/serviceaccount/tenant"';
  t.equal(vouchedUser(jwt(`{${key}:"acme",${key}:"globex"}`), ROBOT), undefined);
});

t.test('in arktos mode', async (t) => {
  t.test('a service account is of the tenant its token names', async (t) => {
    t.equal(tenantOfVouched({ user: ROBOT, tenantClaim: 'acme' }, { ...ordinary, tenant: 'other' }), 'acme');
    t.equal(tenantOfVouched({ user: ROBOT, tenantClaim: 'system' }, ordinary), 'system');
  });
  t.test('without one it is of the configured tenant, or of none', async (t) => {
    t.equal(tenantOfVouched({ user: ROBOT }, { ...ordinary, tenant: 'other' }), 'other');
    t.equal(tenantOfVouched({ user: ROBOT }, ordinary), undefined);
  });
  t.test('anybody else is of the tenant their name begins with, whatever the token claims', async (t) => {
    t.equal(tenantOfVouched({ ...named('acme:zoe'), tenantClaim: 'globex' }, ordinary), 'acme');
  });
  for (const name of [
    'system:admin',
    'system:serviceaccount:robot',
    'system:node:n1',
    ':zoe',
    'zoe',
    'ACME:zoe',
    '',
  ])
    t.test(`the name ${JSON.stringify(name)} says no tenant`, async (t) => {
      t.equal(tenantOfVouched(named(name), ordinary), undefined);
      t.equal(tenantOfVouched(named(name), { ...ordinary, tenant: 'other' }), 'other');
    });
});

t.test('in a cluster without tenants everybody is of the configured one', async (t) => {
  for (const user of [{ user: ROBOT, tenantClaim: 'globex' }, named('acme:zoe')])
    t.equal(tenantOfVouched(user, { tenant: 'robots' }), 'robots');
});

t.test('what a replica wrote is read back as it was', async (t) => {
  for (const vouched of [{ user: ROBOT }, { user: ROBOT, expiresAt: 5, tenantClaim: 'acme' }])
    t.same(vouchedUserCodec.decode(vouchedUserCodec.encode(vouched)), vouched);
});

t.test('what another version wrote in another shape counts as not found', async (t) => {
  const shapes: unknown[] = [
    null,
    [],
    {},
    { user: { ...ROBOT, username: '' } },
    { user: { ...ROBOT, groups: 'g' } },
    { user: { ...ROBOT, groups: [1] } },
    { user: { ...ROBOT, extra: { k: 'v' } } },
    { user: { ...ROBOT, uid: 1 } },
    { user: ROBOT, expiresAt: null },
    { user: ROBOT, tenantClaim: 1 },
  ];
  for (const shape of shapes) t.equal(vouchedUserCodec.decode(JSON.stringify(shape)), undefined);
  fc.assert(fc.property(fc.json(), (text) => vouchedUserCodec.decode(text) === undefined));
});
