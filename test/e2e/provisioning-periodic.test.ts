/**
 * Periodic provisioning in a serving Stonegate: role assignments become rights without a request or command.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import type { Project, User } from '../support/keystone/directory.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const RBAC = 'rbac.authorization.k8s.io';
const PERIODIC = { provision: 'periodic', interval: '50ms', maxDeletedShare: 1 };

async function setUp(t: Test, mode: Mode, withQuotas?: Record<string, object>) {
  const stonegate = await startStonegate(t, { mode });
  const { keystone, apiServer, app } = stonegate;
  const { directory } = keystone;
  directory.role('admin');
  directory.role('reader');
  const { configureBindings } = await admitProvisioner(stonegate, {
    mode,
    ...(withQuotas && { withQuotas }),
  });
  const configure = async (changes: object, sections?: Record<string, object>) => {
    await configureBindings({ ...PERIODIC, ...changes }, sections);
    await app.reload();
  };
  await configure({});
  const tenant = mode === 'arktos' ? 'acme' : '';
  const ours = () =>
    apiServer.cluster.store
      .list({ group: RBAC, resource: 'rolebindings', tenant })
      .filter(({ location }) => /^stonegate-[0-9a-f]{40}$/.test(location.name));
  const pods = async (user: User, project: Project) => {
    const reply = await stonegate.ask(
      keystone.issue(user, { project }),
      `/api/v1/namespaces/${project.id}/pods`,
    );
    return reply.status;
  };
  const metric = async (series: string) =>
    Number(
      (await app.metrics.text())
        .split('\n')
        .find((line) => line.startsWith(series))
        ?.split(' ')[1],
    );
  /** Resolves after the first successful run. */
  const settled = () =>
    eventually(
      async () =>
        (await metric('stonegate_controller_last_success_timestamp_seconds{controller="bindings"}')) > 0,
    );
  const web = directory.project('acme', 'web');
  const [alice, erin] = [directory.user('acme', 'alice'), directory.user('acme', 'erin')];
  return { ...stonegate, configure, directory, ours, pods, metric, settled, web, alice, erin };
}

for (const mode of ['arktos', 'shared'] satisfies Mode[]) {
  t.test(`${mode}: a new project is provisioned for its users with the next run`, async (t) => {
    const { directory, pods, erin } = await setUp(t, mode);
    const lab = directory.project('acme', 'lab');
    directory.assign(erin, 'member', { project: lab });
    await eventually(async () => (await pods(erin, lab)) === 200);
    t.equal(await pods(erin, lab), 200);
  });

  t.test(`${mode}: the bindings of a disabled project are deleted, but not its namespace`, async (t) => {
    const { ours, web, apiServer } = await setUp(t, mode);
    const inWeb = () => ours().filter(({ location }) => location.namespace === web.id);
    await eventually(() => inWeb().length > 0);
    web.enabled = false;
    await eventually(() => inWeb().length === 0);
    const tenant = mode === 'arktos' ? 'acme' : '';
    const namespaces = apiServer.cluster.store.list({ group: '', resource: 'namespaces', tenant });
    t.ok(namespaces.some(({ location }) => location.name === web.id));
  });
}

t.test('while Keystone is down nothing changes, and afterwards runs continue', async (t) => {
  const { ours, keystone, directory, metric, logged, erin, pods, settled } = await setUp(t, 'shared');
  await settled();
  const before = ours().map(({ location }) => location.name);
  keystone.fault = 'error';
  const failed = 'stonegate_controller_runs_total{controller="bindings",result="error"}';
  await eventually(async () => (await metric(failed)) > 1);
  t.same(
    ours().map(({ location }) => location.name),
    before,
  );
  t.equal(
    logged.filter((line) => /"level":"error".*reconciling failed/.test(line)).length,
    1,
    'the failure is logged once',
  );
  keystone.fault = undefined;
  const lab = directory.project('acme', 'lab');
  directory.assign(erin, 'member', { project: lab });
  await eventually(async () => (await pods(erin, lab)) === 200);
  await eventually(() => logged.some((line) => line.includes('reconciling works again')));
});

t.test('a reload switches provisioning off and on again', async (t) => {
  const { configure, directory, erin, pods, settled } = await setUp(t, 'shared');
  await settled();
  await configure({ provision: 'none' });
  const lab = directory.project('acme', 'lab');
  directory.assign(erin, 'member', { project: lab });
  t.equal(await pods(erin, lab), 403);
  await configure({ provision: 'periodic' });
  await eventually(async () => (await pods(erin, lab)) === 200);
  t.equal(await pods(erin, lab), 200);
});

t.test('a reload that adds quotas gives the namespaces that exist their tenant', async (t) => {
  const { configure, apiServer, web, settled } = await setUp(t, 'shared', {});
  await settled();
  const namespace = () =>
    apiServer.cluster.store
      .list({ group: '', resource: 'namespaces', tenant: '' })
      .find(({ location }) => location.name === web.id)?.object;
  const labelled = { metadata: { labels: { 'stonegate.dev/tenant': 'acme' } } };
  t.notMatch(namespace(), labelled);
  await configure({}, { quota: { default: { pods: '10' } } });
  await eventually(() => JSON.stringify(namespace()).includes('stonegate.dev/tenant'));
  t.match(namespace(), labelled);
});
