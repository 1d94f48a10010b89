import t from 'tap';
import { policyReadRights } from '../../../../src/features/cross-tenant/rights.ts';

const NONE = {
  abac: false,
  crossTenantPolicies: false,
  administrations: false,
  tenantAdministrations: false,
};

const readable = (policies: Partial<typeof NONE>) =>
  policyReadRights({ ...NONE, ...policies }).flatMap(({ rule }) => rule.resources ?? []);

t.test('Stonegate may read what the configured policies follow from, and nothing else', async (t) => {
  t.same(readable({}), []);
  t.same(readable({ abac: true }), ['tenants']);
  t.same(readable({ administrations: true }), ['tenants', 'clusterroles']);
  t.same(readable({ tenantAdministrations: true }), ['tenants', 'clusterroles', 'tenantadministrations']);
  t.same(readable({ crossTenantPolicies: true }), [
    'tenants',
    'crosstenantpolicies',
    'validatingwebhookconfigurations',
  ]);
});
