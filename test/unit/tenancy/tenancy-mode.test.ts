import t from 'tap';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { memoizedMode } from '../../../src/tenancy/tenancy-mode.ts';
import { alice } from '../../support/fake-pipeline.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: {} });

t.test(
  'memoized, an identity is the same user as without, and the same object at each request',
  async (t) => {
    const mode = memoizedMode(arktos);
    const tenant = mode.tenantOf(alice);
    t.equal(tenant, arktos.tenantOf(alice));
    t.same(mode.userOf(alice, tenant), arktos.userOf(alice, tenant));
    t.equal(mode.userOf(alice, tenant), mode.userOf(alice, tenant));
  },
);

t.test('for another tenant than the own one the memoized user is never returned', async (t) => {
  const mode = memoizedMode(arktos);
  mode.userOf(alice, mode.tenantOf(alice));
  const elsewhere = mode.tenantOf({ ...alice, tenantOrigin: { from: 'issuer', tenant: 'globex' } });
  t.same(mode.userOf(alice, elsewhere), arktos.userOf(alice, elsewhere));
  t.not(mode.userOf(alice, elsewhere).username, arktos.userOf(alice, mode.tenantOf(alice)).username);
});
