import t from 'tap';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { memoizedMode, withGroups } from '../../../src/tenancy/tenancy-mode.ts';
import { alice } from '../../support/fake-pipeline.ts';
import { claimIdentity, upstreamIdentity } from '../../support/identities.ts';

const arktos = createArktosMode({ systemTenant: 'system', domains: {} });

t.test(
  'a memoized mode returns the same user as without memoization, as the same object each time',
  async (t) => {
    const mode = memoizedMode(arktos);
    const tenant = mode.tenantOf(alice);
    t.equal(tenant, arktos.tenantOf(alice));
    t.same(mode.userOf(alice, tenant), arktos.userOf(alice, tenant));
    t.equal(mode.userOf(alice, tenant), mode.userOf(alice, tenant));
  },
);

t.test('the memoized user is never returned for another tenant', async (t) => {
  const mode = memoizedMode(arktos);
  mode.userOf(alice, mode.tenantOf(alice));
  const elsewhere = mode.tenantOf({ ...alice, tenantOrigin: { from: 'issuer', tenant: 'globex' } });
  t.same(mode.userOf(alice, elsewhere), arktos.userOf(alice, elsewhere));
  t.not(mode.userOf(alice, elsewhere).username, arktos.userOf(alice, mode.tenantOf(alice)).username);
});

t.test(
  'a user also has Stonegate’s own groups, and becomes another object only if they change',
  async (t) => {
    const base = memoizedMode(arktos);
    let groups: readonly string[] = ['stonegate:team:acme:web'];
    const mode = withGroups(base, (tenant, username) =>
      tenant === 'acme' && username === 'acme:carol' ? groups : [],
    );
    const carol = claimIdentity('carol');
    const acme = mode.tenantOf(carol);
    const user = mode.userOf(carol, acme);
    t.same(user, {
      ...base.userOf(carol, acme),
      groups: ['system:authenticated', 'stonegate:team:acme:web'],
    });
    t.equal(mode.userOf(carol, acme), user);
    groups = [...groups];
    t.not(mode.userOf(carol, acme), user);
    const others = [claimIdentity('dave'), claimIdentity('carol', 'globex'), upstreamIdentity('acme:carol')];
    for (const other of others) {
      const tenant = mode.tenantOf(other);
      t.equal(mode.userOf(other, tenant), base.userOf(other, tenant));
    }
  },
);
