import t from 'tap';
import { parse } from 'yaml';
import { desiredRBAC } from '../../../../src/features/cross-tenant/desired-rbac.ts';
import { grantableRules } from '../../../../src/rbac/grantable-rules.ts';
import {
  ALICE_READS_PODS,
  abacPolicies,
  administration,
  crossTenantPolicy,
  policyFacts,
  resolvedPolicies,
} from '../../../support/policies.ts';

function desired(
  sources: Parameters<typeof resolvedPolicies>[0],
  tenants = ['acme', 'globex', 'initech', 'system'],
) {
  const { policies } = resolvedPolicies(sources);
  return desiredRBAC(policies, { tenants: new Set(tenants), systemTenant: 'system', grantable: [] });
}

t.test('a policy of the file becomes a role and a binding of its group in the entered tenant', async (t) => {
  const objects = desired({ abac: abacPolicies(ALICE_READS_PODS) });
  const name = 'stonegate:policy:abac:alice-pods';
  const labels = `labels: {stonegate.dev/managed-by: stonegate, stonegate.dev/policy-form: abac, stonegate.dev/policy: alice-pods}`;
  t.match(
    objects,
    parse(`
    - {tenant: system, object: {kind: ClusterRole, metadata: {name: '${name}', ${labels}}}}
    - tenant: globex
      object:
        kind: ClusterRole
        metadata: {name: '${name}', ${labels}}
        rules: [{apiGroups: [''], resources: [pods], verbs: [get, list, watch]}]
    - tenant: globex
      object:
        kind: ClusterRoleBinding
        metadata: {name: stonegate-policy-, ${labels}}
        roleRef: {kind: ClusterRole, name: '${name}'}
        subjects: [{kind: Group, name: '${name}'}]`),
  );
  t.match(objects[0], { object: { rules: grantableRules([]) } });
  t.match(objects[2]?.object.metadata.name, /^stonegate-policy-[0-9a-f]{40}$/);
  t.equal(objects.length, 3);
});

t.test('a policy for some namespaces is bound only in those', async (t) => {
  const policies = [crossTenantPolicy({ namespaces: ['web', 'db'] })];
  const objects = desired({ facts: policyFacts({ crossTenantPolicies: policies }) });
  t.match(
    objects.map(({ tenant, object }) => `${tenant} ${object.kind} ${object.metadata.namespace ?? ''}`),
    ['system ClusterRole ', 'globex ClusterRole ', 'globex RoleBinding db', 'globex RoleBinding web'],
  );
});

t.test('policies of one name share the role that holds their name in the system tenant', async (t) => {
  const policies = ['globex', 'initech'].map((tenant) => crossTenantPolicy({}, { tenant }));
  const objects = desired({ facts: policyFacts({ crossTenantPolicies: policies }) });
  t.equal(objects.filter(({ tenant }) => tenant === 'system').length, 1);
});

t.test('an administration is written into each tenant of its set, with its end and reason', async (t) => {
  const notAfter = '2027-01-01T00:00:00Z';
  const administrations = [administration({ tenants: { names: ['*'] }, notAfter })];
  const objects = desired({ facts: policyFacts({ administrations }) }).filter(
    ({ tenant }) => tenant !== 'system',
  );
  t.same([...new Set(objects.map(({ tenant }) => tenant))].sort(), ['acme', 'globex', 'initech']);
  for (const { object } of objects)
    t.match(object.metadata.annotations, {
      'stonegate.dev/reason': 'support contract',
      'stonegate.dev/not-after': '2027-01-01T00:00:00.000Z',
    });
});

t.test('nothing is written into a tenant that does not exist', async (t) => {
  t.same(desired({ abac: abacPolicies(ALICE_READS_PODS) }, ['acme', 'system']), []);
});
