import t from 'tap';
import { accountOf, provisioningTenancy } from '../../../../src/features/bindings/build.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';

const domain = (name: string) => ({ id: `d-${name}`, name });
const user = (name: string, home: string) => ({ id: `u-${name}`, name, domain: domain(home) });

const arktosMode = createArktosMode({ systemTenant: 'system', domains: { Admins: 'system' } });
const arktos = provisioningTenancy(arktosMode, false);
const shared = provisioningTenancy(
  createSharedMode({ domains: {}, reservedNamePrefixes: [], looksUpRoles: false }),
  false,
);

t.test('a domain has the tenant of its users', async (t) => {
  t.same(arktos.tenantOf(domain('acme')), { tenant: 'acme' });
  t.match(arktos.tenantOf(domain('Default')), { refused: /no tenant belongs/ });
});

t.test('the system tenant is never provisioned: a binding there counts everywhere', async (t) => {
  t.match(arktos.tenantOf(domain('Admins')), { refused: /apply in every other/ });
});

t.test('users have the names that their tokens give them', async (t) => {
  t.same(arktos.userNameOf(user('alice', 'acme'), domain('acme')), { name: 'acme:alice' });
  t.same(arktos.userNameOf(user('alice', 'globex'), domain('acme')), { name: 'acme:alice@globex' });
  t.same(shared.userNameOf(user('alice', 'globex'), domain('acme')), { name: 'globex:alice' });
  t.match(shared.userNameOf(user('alice ', 'acme'), domain('acme')), { refused: /space/ });
});

t.test('provisioning on a user’s request uses the connections of the user’s tenant', async (t) => {
  t.same(accountOf(arktosMode, domain('acme')), { kind: 'tenant', tenant: 'acme' });
});
