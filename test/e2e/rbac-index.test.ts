/** The RBAC index of a whole Stonegate, in front of both kinds of API server. */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { indexMetrics } from '../support/index-metrics.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const setUp = (t: Test, mode: Mode, access = { index: true }) =>
  startStonegate(t, { mode, configuration: { access } });

async function synced({ app }: RunningStonegate) {
  await eventually(async () => (await indexMetrics(app)).synced);
}

function notReady({ app }: RunningStonegate) {
  return app.readiness().find(({ name }) => name === 'rbac index')?.reason;
}

/** The URLs of Stonegate's requests for a resource of the index. */
function requestsFor({ apiServer }: RunningStonegate, part: string) {
  return apiServer.requests.map(({ url }) => url).filter((url) => url.includes(part));
}

t.test(`arktos: the index is complete, follows changes, and requests nothing else`, async (t) => {
  const stonegate = await setUp(t, 'arktos');
  const { apiServer, app } = stonegate;
  await synced(stonegate);
  t.equal(notReady(stonegate), undefined);
  const before = await indexMetrics(app);
  t.equal(before.objects('namespaces'), apiServer.cluster.store.list({ resource: 'namespaces' }).length);
  for (const resource of ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'] as const) {
    const paths = requestsFor(stonegate, `/${resource}?`).map((url) => url.slice(0, url.indexOf('?')));
    t.same([...new Set(paths)], [`${RBAC}/tenants/all/${resource}`]);
    t.equal(before.objects(resource), apiServer.cluster.store.list({ resource }).length, resource);
  }
  apiServer.seed.clusterRole('another', [], { tenant: 'acme' });
  await eventually(
    async () => (await indexMetrics(app)).objects('clusterroles') === before.objects('clusterroles') + 1,
  );
});

t.test('a reload leaves the index as it is, and a renewed credential is used at once', async (t) => {
  const stonegate = await setUp(t, 'shared');
  const { app, apiServer, configFile, configure } = stonegate;
  await synced(stonegate);
  const { revision } = await indexMetrics(app);
  apiServer.seed.token('renewed', { username: 'stonegate' });
  await writeFile(join(dirname(configFile), 'apiserver-token'), 'renewed', { mode: 0o600 });
  await app.reload();
  const bearers = () =>
    apiServer.requests
      .filter(({ url }) => url.includes('watch=1'))
      .filter(({ headers }) => headers.authorization === 'Bearer renewed');
  await eventually(() => bearers().length >= 5);
  const after = await indexMetrics(app);
  t.ok(after.synced && after.revision >= revision);
  t.equal(
    requestsFor(stonegate, '/clusterrolebindings?limit=500').length,
    1,
    'the bindings were not listed again',
  );
  apiServer.seed.clusterRole('another', []);
  await eventually(
    async () => (await indexMetrics(app)).objects('clusterroles') > after.objects('clusterroles'),
  );
  await configure({ access: { index: false } });
  await app.reload();
  await eventually(async () => !(await indexMetrics(app)).synced);
  const requests = apiServer.requests.length;
  apiServer.endWatches();
  await configure({ access: { index: true } });
  await app.reload();
  await synced(stonegate);
  t.ok(apiServer.requests.length > requests, 'the index can be turned on again');
});

t.test('without the index Stonegate lists and watches nothing', async (t) => {
  const stonegate = await setUp(t, 'shared', { index: false });
  await stonegate.ask(stonegate.keystoneToken('alice'), '/api/v1/pods');
  t.same(requestsFor(stonegate, 'watch=1'), []);
  t.same(requestsFor(stonegate, RBAC), []);
  t.notOk(stonegate.app.readiness().some(({ name }) => name === 'rbac index'));
});
