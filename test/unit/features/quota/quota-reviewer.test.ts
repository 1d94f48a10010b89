import t from 'tap';
import { countedWrites } from '../../../../src/features/quota/counted-writes.ts';
import { createQuotaReviewer } from '../../../../src/features/quota/quota-reviewer.ts';
import { createQuotaTenants } from '../../../../src/features/quota/quota-tenants.ts';
import { createReservations } from '../../../../src/features/quota/reservations.ts';
import { TENANT_QUOTAS } from '../../../../src/features/quota/tenant-quota-v1alpha1.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { TENANCY_FACTS } from '../../../../src/tenancy/facts.ts';
import { admissionRequest, CALLER } from '../../../support/admission-reviews.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { createMemoryObjects } from '../../../support/memory-objects.ts';

const UID = '6a9d7a1e-0f34-4f0f-9d5c-5a4f3c1f6e11';

/** A reviewer on Arktos, where the tenant has this quota. */
function setUp(hard: Readonly<Record<string, string>>) {
  const objects = createMemoryObjects();
  const clock = createFakeClock();
  const tenancy = { facts: TENANCY_FACTS.arktos, systemTenant: 'system' };
  const place = { tenant: 'system', namespace: 'stonegate' };
  const used = Object.fromEntries(Object.keys(hard).map((resource) => [resource, '0']));
  objects.put(TENANT_QUOTAS, place, { metadata: { name: 'acme' }, spec: { hard }, status: { used } });
  const review = createQuotaReviewer({
    tenantOf: createQuotaTenants({ tenancy, objects, clock }),
    reservations: createReservations({
      ...{ objects, place, clock, random: systemRandom, reserves: true },
    }),
    mode: 'enforce',
    telemetry: noTelemetry,
  });
  return async (operation: 'CREATE' | 'UPDATE', object: object, oldObject?: object) => {
    const judged = review(admissionRequest({ operation, namespace: 'web', object, oldObject }));
    return (await judged.complete(CALLER)).result;
  };
}

function pod(name: string, spec: object = {}) {
  return { metadata: { tenant: 'acme', namespace: 'web', name, uid: UID }, spec };
}

t.test('pods to which a client of Arktos gives the same UID count separately', async (t) => {
  const ask = setUp({ pods: '1' });
  t.equal(await ask('CREATE', pod('first')), 'allowed');
  t.equal(await ask('CREATE', pod('first')), 'allowed', 'a repeated review');
  t.equal(await ask('CREATE', pod('second')), 'denied');
});

t.test('on Arktos an update that gives a virtual machine more counts', async (t) => {
  const ask = setUp({ 'requests.cpu': '2' });
  const vm = (cpu: string) => pod('vm', { virtualMachine: { name: 'vm', resources: { requests: { cpu } } } });
  t.equal(await ask('UPDATE', vm('64'), vm('1')), 'denied');
  t.equal(await ask('UPDATE', vm('2'), vm('1')), 'allowed');
  const paths = countedWrites([])
    .filter(({ rule }) => rule.resources.includes('pods') && rule.operations.includes('UPDATE'))
    .map(({ path }) => path);
  t.same(paths, ['/quota/core/pod-updates'], 'such updates are reviewed, without delaying new pods');
});
