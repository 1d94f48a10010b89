/** Whose quota a write counts against. */
import t from 'tap';
import { createQuotaTenants } from '../../../../src/features/quota/quota-tenants.ts';
import type { AdmissionRequest } from '../../../../src/kubernetes/admission-v1.ts';
import { KINDS } from '../../../../src/kubernetes/kubernetes-object.ts';
import { TENANCY_FACTS, type TenancyModeName } from '../../../../src/tenancy/facts.ts';
import { admissionRequest } from '../../../support/admission-reviews.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';

const labelled = (name: string, tenant: string) => ({
  metadata: { name, labels: { 'stonegate.dev/tenant': tenant } },
});

function tenantsIn(mode: TenancyModeName) {
  const objects = createMemoryObjects();
  objects.put(KINDS.Namespace, {}, labelled('web', 'acme'));
  objects.put(KINDS.Namespace, {}, labelled('odd', 'No Tenant'));
  objects.put(KINDS.Namespace, {}, { metadata: { name: 'free' } });
  const tenancy = { facts: TENANCY_FACTS[mode], systemTenant: 'system' };
  const tenants = createQuotaTenants({ tenancy, objects, clock: createFakeClock() });
  return (changes: Partial<AdmissionRequest>) =>
    tenants(admissionRequest(changes), new AbortController().signal);
}

t.test('in shared mode a write counts against the tenant of its namespace, if it has one', async (t) => {
  const tenantOf = tenantsIn('shared');
  for (const [namespace, tenant] of [
    ['web', 'acme'],
    ['odd', undefined],
    ['free', undefined],
    ['missing', undefined],
    ['', undefined],
  ] as const)
    t.equal(await tenantOf({ namespace, object: labelled('a', 'globex') }), tenant, namespace);
});

t.test('in shared mode a write of a namespace counts against the tenant of its label', async (t) => {
  const tenantOf = tenantsIn('shared');
  const namespace = { resource: 'namespaces', namespace: 'web' };
  t.equal(await tenantOf({ ...namespace, object: labelled('web', 'globex') }), 'globex');
  t.equal(
    await tenantOf({ ...namespace, oldObject: labelled('web', 'globex') }),
    'globex',
    'if it is deleted',
  );
});

t.test(
  'on Arktos a write counts against the tenant of its object, unless that is the system tenant',
  async (t) => {
    const tenantOf = tenantsIn('arktos');
    for (const [tenant, expected] of [
      ['acme', 'acme'],
      ['system', undefined],
    ] as const)
      t.equal(await tenantOf({ namespace: 'web', object: { metadata: { name: 'a', tenant } } }), expected);
  },
);
