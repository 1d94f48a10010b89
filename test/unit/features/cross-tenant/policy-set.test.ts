import t from 'tap';
import { createPolicySet } from '../../../../src/features/cross-tenant/policy-set.ts';
import {
  ALICE_READS_PODS,
  abacPolicies,
  administration,
  attributes,
  crossTenantPolicy,
  entry,
  HOUR,
  NOW,
  POD_READER,
  policyFacts,
  resolvedPolicies,
} from '../../../support/policies.ts';

const DEV = entry('dana', { groups: ['devs'] });
const SUPPORT = entry('sam', { home: 'system', groups: ['keystone:group:support'] });

function setOf(...given: Parameters<typeof resolvedPolicies>) {
  return createPolicySet(resolvedPolicies(...given).policies);
}

const setOfOne = (spec: Parameters<typeof crossTenantPolicy>[0]) =>
  setOf({ facts: policyFacts({ crossTenantPolicies: [crossTenantPolicy(spec)] }) });

t.test('policies of each form let users in, and a permit names its policy', async (t) => {
  const facts = policyFacts({
    crossTenantPolicies: [crossTenantPolicy()],
    administrations: [administration()],
  });
  const set = setOf({ abac: abacPolicies(ALICE_READS_PODS), facts });
  t.same(set.permits(entry('alice'), attributes('get', 'pods'), NOW), {
    policy: { form: 'abac', name: 'alice-pods', source: 'authorization.abacPolicyFile line 1' },
  });
  t.match(set.permits(DEV, attributes('get', 'pods/log'), NOW), {
    policy: { form: 'tenant', name: 'devs', source: 'crosstenantpolicies/globex/devs' },
  });
  t.match(set.permits(SUPPORT, attributes('create', 'pods'), NOW), {
    policy: { form: 'administration', name: 'support', source: 'tenantadministrations/support' },
  });
});

t.test('the same name or group in another tenant matches nothing', async (t) => {
  const facts = policyFacts({ crossTenantPolicies: [crossTenantPolicy()] });
  const set = setOf({ abac: abacPolicies(ALICE_READS_PODS), facts });
  t.same(set.admitting(entry('alice', { home: 'initech' }), NOW), []);
  t.same(set.admitting(entry('dana', { home: 'initech', groups: ['devs'] }), NOW), []);
});

t.test('D339 if several policies admit a user, the first that allows the request counts', async (t) => {
  const facts = policyFacts({
    crossTenantPolicies: [
      crossTenantPolicy(
        {
          subjects: [{ kind: 'User', tenant: 'acme', name: 'dana' }],
          rules: [{ ...POD_READER, resources: ['secrets'] }],
        },
        { name: 'b' },
      ),
      ...['a', 'c'].map((name) => crossTenantPolicy({}, { name })),
    ],
  });
  const set = setOf({ facts });
  t.match(set.permits(DEV, attributes('get', 'pods'), NOW), { policy: { name: 'a' } });
  t.match(set.permits(DEV, attributes('get', 'secrets'), NOW), { policy: { name: 'b' } });
  t.equal(set.permits(DEV, attributes('get', 'configmaps'), NOW), undefined);
  t.same(
    set.admitting(DEV, NOW).map(({ name }) => name),
    ['a', 'b', 'c'],
  );
});

t.test('D337 a user who has left the group is no longer a guest', async (t) => {
  const set = setOf({ facts: policyFacts({ administrations: [administration()] }) });
  const permitted = (who: typeof SUPPORT) =>
    set.permits(who, attributes('list', 'namespaces', { namespace: '' }), NOW) !== undefined;
  t.ok(permitted(SUPPORT));
  t.notOk(permitted({ ...SUPPORT, groups: [] }));
  t.same(set.admitting({ ...SUPPORT, groups: [] }, NOW), []);
});

t.test('D336 a policy ends by itself, and a permit says when', async (t) => {
  const notAfter = new Date(NOW + HOUR).toISOString();
  const set = setOfOne({ notAfter });
  t.match(set.permits(DEV, attributes('watch', 'pods'), NOW), { notAfter: NOW + HOUR });
  t.ok(set.permits(DEV, attributes('watch', 'pods'), NOW + HOUR - 1));
  t.notOk(set.permits(DEV, attributes('watch', 'pods'), NOW + HOUR));
  t.same(set.admitting(DEV, NOW + HOUR), []);
});
