/** Whose quota an object counts against in shared mode. */
import t from 'tap';
import { createQuotaTenants } from '../../../../src/features/quota/quota-tenants.ts';
import { KINDS } from '../../../../src/kubernetes/kubernetes-object.ts';
import { TENANT_KEY } from '../../../../src/kubernetes/reserved-names.ts';
import { TENANCY_FACTS } from '../../../../src/tenancy/facts.ts';
import { admissionRequest, CALLER } from '../../../support/admission-reviews.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';

const SHARED = { facts: TENANCY_FACTS.shared, systemTenant: 'system' };

t.test('many objects that are created in a namespace at once cause one read of it', async (t) => {
  const objects = createMemoryObjects();
  objects.put(KINDS.Namespace, {}, { metadata: { name: 'web', labels: { [TENANT_KEY]: 'acme' } } });
  let reads = 0;
  objects.before = () => {
    reads += 1;
  };
  const tenantOf = createQuotaTenants({ tenancy: SHARED, objects, clock: createFakeClock() });
  const request = admissionRequest({ namespace: 'web' });
  const found = await Promise.all(Array.from({ length: 20 }, () => tenantOf(request, CALLER.signal)));
  t.same(new Set(found), new Set(['acme']));
  t.equal(reads, 1);
});
