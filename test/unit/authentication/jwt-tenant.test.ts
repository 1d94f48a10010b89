import t from 'tap';
import { tenantOfClaims } from '../../../src/authentication/jwt-tenant.ts';

t.test('a fixed tenant needs no claim', async (t) => {
  t.equal(tenantOfClaims({}, { value: 'acme' }), 'acme');
});

t.test('a claim chooses among the entries of the map', async (t) => {
  t.equal(tenantOfClaims({ hd: 'acme.com' }, { claim: 'hd', map: { 'acme.com': 'acme' } }), 'acme');
});

t.test('a claim chooses among the allowed tenants, to the letter', async (t) => {
  const tenant = { claim: 'org', allow: ['acme', 'globex'] };
  t.equal(tenantOfClaims({ org: 'globex' }, tenant), 'globex');
  for (const org of ['Globex', 'globex ', 'initech', '']) {
    t.throws(() => tenantOfClaims({ org }, tenant), { code: 'TenantUnknown', http: 403 });
  }
});

t.test('a missing claim and a value that is not listed are refused by the claim’s name', async (t) => {
  const tenant = { claim: 'hd', map: { 'acme.com': 'acme' } };
  t.throws(() => tenantOfClaims({}, tenant), { code: 'TenantUnknown', message: /"hd".* is missing/ });
  t.throws(() => tenantOfClaims({ hd: 'evil.com' }, tenant), { code: 'TenantUnknown', message: /"hd"/ });
  t.throws(() => tenantOfClaims({ hd: 'evil.com' }, tenant), { message: /^((?!evil).)*$/ });
});

t.test('a claim that is no string chooses nothing', async (t) => {
  for (const hd of [['acme.com'], 7, { 'acme.com': true }]) {
    t.throws(() => tenantOfClaims({ hd }, { claim: 'hd', map: { 'acme.com': 'acme' } }), {
      code: 'IdentityUnusable',
    });
  }
});

t.test('members that every object has are no entries of the map', async (t) => {
  for (const hd of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    t.throws(() => tenantOfClaims({ hd }, { claim: 'hd', map: {} }), { code: 'TenantUnknown' });
  }
});

t.test('the cluster’s own tenants come only from a map', async (t) => {
  for (const name of ['system', 'all']) {
    t.throws(() => tenantOfClaims({}, { value: name }), { code: 'TenantUnknown' });
    t.throws(() => tenantOfClaims({ org: name }, { claim: 'org', allow: [name] }), { code: 'TenantUnknown' });
  }
  t.equal(tenantOfClaims({ org: 'admins' }, { claim: 'org', map: { admins: 'system' } }), 'system');
});
