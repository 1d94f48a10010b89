import t from 'tap';
import { rbacManifests } from '../../../src/cli/rbac-manifests.ts';

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
const user = { kind: 'User', name: 'stonegate' } as const;
const RESOURCES =
  /tenants|clusterroles|tenantadministrations|crosstenantpolicies|validatingwebhookconfigurations/g;

/** Which of the resources that policies follow from Stonegate may read. */
function readable(policies: Partial<typeof NONE>): string[] {
  const rules =
    rbacManifests({ ...needs, policies: { ...NONE, ...policies } }, user).match(/resources: .*/g) ?? [];
  return rules.flatMap((rule) => rule.match(RESOURCES) ?? []);
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
