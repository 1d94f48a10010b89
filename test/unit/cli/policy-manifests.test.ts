import t from 'tap';
import { impersonatorRules } from '../../../src/cli/rbac-manifests.ts';

const needs = {
  mode: 'arktos',
  keystone: true,
  tokenReview: false,
  index: false,
  extraKeys: [],
  constrained: false,
} as const;
const NONE = {
  abac: false,
  crossTenantPolicies: false,
  administrations: false,
  tenantAdministrations: false,
};
const RESOURCES =
  /^(tenants|clusterroles|tenantadministrations|crosstenantpolicies|validatingwebhookconfigurations)$/;

/** Which of the resources that policies follow from Stonegate may read. */
function readable(policies: Partial<typeof NONE>): string[] {
  const rules = impersonatorRules({ ...needs, policies: { ...NONE, ...policies } });
  return rules.flatMap(({ rule }) => rule.resources ?? []).filter((resource) => RESOURCES.test(resource));
}

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
