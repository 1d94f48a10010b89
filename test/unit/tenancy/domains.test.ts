import t from 'tap';
import { createTenantResolver } from '../../../src/tenancy/domains.ts';

const resolve = createTenantResolver({
  domains: { Default: 'default-tenant', 'Big Corp': 'bigcorp', ops: 'system' },
  reserved: new Set(['system', 'all']),
});
const ofDomain = (name: string) => resolve({ from: 'domain', domain: { id: 'd', name } });

t.test('a domain whose name is a DNS-1123 label is the tenant', async (t) => {
  for (const name of ['acme', 'a'.repeat(63)]) t.equal(ofDomain(name), name);
});

t.test('a domain with an entry is the tenant of the entry', async (t) => {
  t.equal(ofDomain('Default'), 'default-tenant');
  t.equal(ofDomain('Big Corp'), 'bigcorp');
});

t.test('an explicit entry may name the system tenant', async (t) => t.equal(ofDomain('ops'), 'system'));

for (const name of [
  'Acme',
  'acme corp',
  '',
  '-acme',
  'acme.corp',
  'a'.repeat(64),
  'constructor ',
  '__proto__',
  'café',
])
  t.test(`the domain ${JSON.stringify(name)} without an entry has no tenant`, async (t) =>
    t.throws(() => ofDomain(name), { code: 'TenantUnknown', message: /tenancy\.domains/ }),
  );

for (const name of ['system', 'all'])
  t.test(`the reserved domain "${name}" has no tenant without an entry`, async (t) =>
    t.throws(() => ofDomain(name), { code: 'TenantUnknown' }),
  );

t.test('D335 a domain whose name is that of a tenant in another case has no tenant', async (t) => {
  for (const name of ['ACME', 'Acme', 'acmE', 'ＡＣＭＥ'])
    t.throws(() => ofDomain(name), { code: 'TenantUnknown' }, name);
  t.throws(() => ofDomain('BigCorp'), { code: 'TenantUnknown' });
});

t.test('a domain does not get a tenant that another domain was given', async (t) =>
  t.throws(() => ofDomain('bigcorp'), { code: 'TenantUnknown' }),
);

t.test('two domains with the same tenant are a configuration error', async (t) =>
  t.throws(() => createTenantResolver({ domains: { a: 'x', b: 'x' }, reserved: new Set() }), /two domains/),
);

t.test('the tenant of an issuer must have a valid name', async (t) => {
  t.equal(resolve({ from: 'issuer', tenant: 'acme' }), 'acme');
  t.throws(() => resolve({ from: 'issuer', tenant: 'acme/../x' }), { code: 'TenantUnknown' });
});
