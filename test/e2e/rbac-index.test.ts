/** The RBAC index of a whole Stonegate, in front of both kinds of API server. */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { check } from '../../src/app/commands/check.ts';
import { eventually } from '../support/eventually.ts';
import { indexMetrics } from '../support/index-metrics.ts';
import { printedIO } from '../support/printed-io.ts';
import { type RunningStonegate, serveTestbed, startStonegate } from '../support/stonegate.ts';
import { createTestbed, type Mode } from '../support/testbed.ts';

const access = { index: true };
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

async function setUp(t: Test, mode: Mode, configuration: object = {}): Promise<RunningStonegate> {
  const folder = join(t.testdir({}), 'land');
  const stonegate = await startStonegate({ folder, mode, configuration: { access, ...configuration } });
  t.teardown(() => stonegate.close());
  return stonegate;
}

async function synced({ app }: RunningStonegate): Promise<void> {
  await eventually(async () => (await indexMetrics(app)).synced);
}

function notReady({ app }: RunningStonegate): string | undefined {
  return app.readiness().find(({ name }) => name === 'rbac index')?.reason;
}

/** Requests of Stonegate for a resource of the index. */
function requestsFor({ apiServer }: RunningStonegate, part: string): string[] {
  return apiServer.requests.map(({ url }) => url).filter((url) => url.includes(part));
}

for (const [mode, prefix] of [
  ['shared', ''],
  ['arktos', 'tenants/all/'],
] as const)
  t.test(`${mode}: the index is complete, follows changes, and asks for nothing else`, async (t) => {
    const stonegate = await setUp(t, mode);
    const { apiServer, app } = stonegate;
    await synced(stonegate);
    t.equal(notReady(stonegate), undefined);
    const before = await indexMetrics(app);
    t.equal(before.objects('namespaces'), apiServer.cluster.store.list({ resource: 'namespaces' }).length);
    for (const resource of ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'] as const) {
      const paths = requestsFor(stonegate, `/${resource}?`).map((url) => url.slice(0, url.indexOf('?')));
      t.same([...new Set(paths)], [`${RBAC}/${prefix}${resource}`]);
      t.equal(before.objects(resource), apiServer.cluster.store.list({ resource }).length, resource);
    }
    apiServer.seed.clusterRole('another', [], mode === 'arktos' ? { tenant: 'acme' } : {});
    await eventually(
      async () => (await indexMetrics(app)).objects('clusterroles') === before.objects('clusterroles') + 1,
    );
  });

t.test('D010 the index survives a restart of the API server and a lost history', async (t) => {
  const stonegate = await setUp(t, 'shared');
  const { apiServer, app } = stonegate;
  await synced(stonegate);
  await eventually(() => requestsFor(stonegate, 'watch=1').length >= 5);
  await apiServer.stop();
  const { objects } = await indexMetrics(app);
  apiServer.seed.clusterRole('made-meanwhile', []);
  apiServer.cluster.store.compact();
  await apiServer.start();
  await eventually(async () => {
    const now = await indexMetrics(app);
    return (
      now.objects('clusterroles') === objects('clusterroles') + 1 && now.lists('clusterroles', 'expired') > 0
    );
  });
  const now = await indexMetrics(app);
  t.ok(now.failures('clusterroles', 'unreachable') > 0, 'its failures are counted');
  t.ok(now.age('clusterroles') < 60, 'and the metric shows its age');
  t.match(stonegate.logged.join('\n'), /informer: the API server could not be listed or watched/);
  await eventually(() => /informer: the API server is watched again/.test(stonegate.logged.join('\n')));
});

t.test('D011 until the index is complete, requests are forwarded as if there were none', async (t) => {
  const testbed = await createTestbed({
    folder: join(t.testdir({}), 'land'),
    mode: 'shared',
    configuration: { access },
  });
  for (let time = 0; time < 4; time += 1)
    testbed.apiServer.breakNext('403', ({ url = '' }) => url.startsWith(`${RBAC}/roles?`));
  const stonegate = await serveTestbed(testbed);
  t.teardown(() => stonegate.close());
  await eventually(() => requestsFor(stonegate, '/roles?').length > 0);
  t.match(notReady(stonegate), /have not been listed yet/);
  const reply = await stonegate.ask(stonegate.keystoneToken('bob'), '/api/v1/namespaces');
  t.notOk(reply.headers['stonegate-filtered']);
  t.match(requestsFor(stonegate, '/api/v1/namespaces').at(-1), '/api/v1/namespaces');
  await synced(stonegate);
  t.equal(notReady(stonegate), undefined, 'it becomes ready by itself');
  t.match(stonegate.logged.join('\n'), /apply the output of `stonegate manifests rbac --config FILE`/);
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
  t.equal(requestsFor(stonegate, '/clusterrolebindings?limit=500').length, 1, 'it was not listed again');
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
  t.ok(apiServer.requests.length > requests, 'and it can be turned on again');
});

t.test('without the index Stonegate lists and watches nothing', async (t) => {
  const stonegate = await setUp(t, 'shared', { access: { index: false } });
  await stonegate.ask(stonegate.keystoneToken('alice'), '/api/v1/pods');
  t.same(requestsFor(stonegate, 'watch=1'), []);
  t.same(requestsFor(stonegate, RBAC), []);
  t.notOk(stonegate.app.readiness().some(({ name }) => name === 'rbac index'));
});

for (const mode of ['arktos', 'shared'] satisfies Mode[])
  t.test(
    `${mode}: check warns if the API server does not let Stonegate keep the index complete`,
    async (t) => {
      const { configFile, apiServer } = await setUp(t, mode);
      const run = async () => {
        const { io, printed } = printedIO();
        t.equal(await check(['--config', configFile], io), 0);
        return printed.stderr;
      };
      t.notMatch(await run(), /RBAC index/);
      const [role] = apiServer.cluster.store.list({
        resource: 'clusterroles',
        name: 'stonegate-impersonator',
      });
      if (!Array.isArray(role?.object.rules)) throw new Error('no role');
      const rules = role.object.rules.filter((rule) => !/rolebindings|"tenants"/.test(JSON.stringify(rule)));
      apiServer.cluster.store.put(role.location, { ...role.object, rules });
      const warnings = await run();
      t.match(
        warnings,
        /^warning: upstream\.credential: may not list roles, watch roles, .* so the RBAC index \(access\.index\) is never complete: apply the output of `stonegate manifests rbac --config FILE`$/m,
      );
      const ofTenants =
        /^warning: upstream\.credential: may not get tenants, so `kubectl get tenants` fails/m;
      if (mode === 'arktos') t.match(warnings, ofTenants);
      else t.notMatch(warnings, ofTenants);
    },
  );
