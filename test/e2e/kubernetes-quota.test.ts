/**
 * Quotas of tenants at a real kube-apiserver with its controller manager.
 */
import t from 'tap';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { startQuotaSite } from '../support/kubernetes/quota-site.ts';

const pod = (name: string, cpu = '100m') => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] },
});

t.test('a tenant with two namespaces', { skip: missingControllers() }, async (t) => {
  const site = await startQuotaSite(t);
  const { namespace, uses, limit, send, quota } = site;
  await namespace('acme-web', 'acme');
  await namespace('acme-lab', 'acme');
  const pods = (at: string) => `/api/v1/namespaces/${at}/pods`;

  await t.test('gets the default quota, and its usage is counted', async () => {
    await uses('acme', { pods: '0' });
    t.match(await quota('acme'), { spec: { hard: { pods: '10' } } });
  });

  await t.test('has room for so many pods in all its namespaces', async (t) => {
    await limit('acme', { pods: '3', 'requests.cpu': '1' });
    t.equal((await send('POST', pods('acme-web'), pod('a'))).status, 201);
    t.equal((await send('POST', pods('acme-lab'), pod('b'))).status, 201);
    t.equal((await send('POST', pods('acme-lab'), pod('c'))).status, 201);
    const refused = await send('POST', pods('acme-web'), pod('d'));
    t.match(JSON.parse(refused.body), {
      code: 403,
      reason: 'Forbidden',
      message:
        /exceeded quota: acme, requested: pods=1, used: pods=\d(, reserved: pods=\d)?, limited: pods=3/,
    });
    await uses('acme', { pods: '3', 'requests.cpu': '300m' });
  });

  await t.test('D201 20 concurrent creates against room for 10 give exactly 10', async (t) => {
    await limit('acme', { pods: '13' });
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        send('POST', pods(at % 2 ? 'acme-web' : 'acme-lab'), pod(`many-${at}`)),
      ),
    );
    t.equal(replies.filter(({ status }) => status === 201).length, 10);
    t.equal(replies.filter(({ status }) => status === 403).length, 10);
    await uses('acme', { pods: '13' });
  });
});
