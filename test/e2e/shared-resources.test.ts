/**
 * Arktos shares the objects of a cluster-scoped custom resource among all tenants that define it. Stonegate
 * refuses requests for such objects, unless the operator allows the API group.
 */
import t, { type Test } from 'tap';
import { startStonegate } from '../support/stonegate.ts';

const gadgets = { group: 'example.com', plural: 'gadgets', kind: 'Gadget', scope: 'Cluster' } as const;
const GADGETS = '/apis/example.com/v1/gadgets';

/** Both tenants have defined the same cluster-scoped resource, and acme has one object of it. */
async function setUp(t: Test, tenancy: object = {}) {
  const stonegate = await startStonegate(t, { configuration: { tenancy } });
  const { seed } = stonegate.apiServer;
  for (const tenant of ['acme', 'globex']) seed.customResource(gadgets, { tenant });
  seed.object('example.com/v1/gadgets', 'g1', { spec: { owner: 'acme' } }, { tenant: 'acme' });
  return { stonegate, bob: stonegate.keystoneToken('bob'), seed };
}

t.test('no request for a custom resource that all tenants share is forwarded', async (t) => {
  const { stonegate, bob } = await setUp(t);
  for (const [method, path] of [
    ['GET', GADGETS],
    ['GET', '/apis/example.com/v1/watch/gadgets'],
    ['GET', `${GADGETS}/g1`],
    ['GET', '/apis/example.com/v1/tenants/globex/gadgets/g1'],
    ['POST', GADGETS],
    ['DELETE', `${GADGETS}/g1`],
  ] as const) {
    const reply = await stonegate.ask(bob, path, { method });
    t.equal(reply.status, 403, `${method} ${path}`);
    t.match(reply.json().message, /shared by all tenants.*scope: Tenant/);
  }
  t.notOk(stonegate.apiServer.requests.some(({ url }) => url.includes('gadgets')));
});

t.test('another tenant’s namespaced objects of the same resource name cannot be read', async (t) => {
  const { stonegate, bob, seed } = await setUp(t);
  seed.customResource(
    { ...gadgets, plural: 'secrets', kind: 'Sec', scope: 'Namespaced' },
    { tenant: 'acme' },
  );
  seed.customResource({ ...gadgets, plural: 'secrets', kind: 'Sec' }, { tenant: 'globex' });
  seed.object('example.com/v1/secrets', 's1', { spec: { pw: 'acme' } }, { tenant: 'acme' });
  const reply = await stonegate.ask(bob, '/apis/example.com/v1/secrets');
  t.equal(reply.status, 403);
  t.notMatch(reply.body, /pw/);
});

t.test('a resource that was defined after discovery was read is checked too', async (t) => {
  const { stonegate, bob, seed } = await setUp(t);
  t.equal((await stonegate.ask(bob, '/apis/example.com/v1/others')).status, 404);
  seed.customResource({ ...gadgets, plural: 'others', kind: 'Other' }, { tenant: 'globex' });
  t.equal((await stonegate.ask(bob, '/apis/example.com/v1/others')).status, 403);
});

t.test('without any definition in the system tenant, a tenant’s custom resources are served', async (t) => {
  const { stonegate, bob, seed } = await setUp(t);
  seed.customResource({ ...gadgets, plural: 'own', kind: 'Own', scope: 'Tenant' }, { tenant: 'globex' });
  const definitions = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };
  t.strictSame(stonegate.apiServer.cluster.store.list({ ...definitions, tenant: 'system' }), []);
  t.equal((await stonegate.ask(bob, '/apis/example.com/v1/own')).status, 200);
});

t.test('the operator can allow an API group', async (t) => {
  const { stonegate, bob } = await setUp(t, { sharedAPIGroups: ['example.com'] });
  t.match((await stonegate.ask(bob, `${GADGETS}/g1`)).json(), { spec: { owner: 'acme' } });
});

t.test('if discovery cannot be read, nothing is forwarded: 503', async (t) => {
  const { stonegate, bob } = await setUp(t);
  stonegate.apiServer.breakNext('500', ({ url = '' }) => url.startsWith('/apis/example.com/v1?'));
  const reply = await stonegate.ask(bob, GADGETS);
  t.equal(reply.status, 503);
  t.match(reply.body, /UpstreamUnavailable/);
});

t.test('if the system tenant’s definitions cannot be read, nothing is forwarded: 503', async (t) => {
  const { stonegate, bob, seed } = await setUp(t);
  const things = { ...gadgets, plural: 'things', kind: 'Thing', sharing: 'Forced' };
  seed.customResource(things, { tenant: 'system' });
  stonegate.apiServer.breakNext('500', ({ url = '' }) => url.includes('customresourcedefinitions'));
  for (const time of ['first', 'second']) {
    const reply = await stonegate.ask(bob, '/apis/example.com/v1/things');
    t.equal(reply.status, 503, time);
    t.match(reply.body, /UpstreamUnavailable/);
  }
  t.notOk(stonegate.apiServer.requests.some(({ url }) => url.includes('things')));
});
