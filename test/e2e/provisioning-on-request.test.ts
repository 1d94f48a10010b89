/** Provisioning on request: a user's first request finds their project provisioned. */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import type { Target, User } from '../support/keystone/directory.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const RBAC = 'rbac.authorization.k8s.io';

interface Options {
  readonly mode?: Mode;
  readonly bindings?: object;
}

async function setUp(t: Test, { mode = 'arktos', bindings = {} }: Options = {}) {
  // The controllers of other features would ask the API server with the same credential.
  const stonegate = await startStonegate(t, { mode, keep: true });
  const { keystone, apiServer, app } = stonegate;
  const { directory } = keystone;
  for (const role of ['admin', 'member', 'reader']) directory.role(role);
  const { configureBindings } = await admitProvisioner(stonegate, {
    mode,
    bindings: { provision: 'onRequest', ...bindings },
  });
  await app.reload();
  const tenant = mode === 'arktos' ? 'acme' : '';
  const bound = () =>
    apiServer.cluster.store
      .list({ group: RBAC, resource: 'rolebindings', tenant })
      .filter(({ location }) => /^stonegate-[0-9a-f]{40}$/.test(location.name));
  const statusOf = async (user: User, scope: Target | undefined, path: string) =>
    (await stonegate.ask(keystone.issue(user, scope), path)).status;
  /** What provisioning has asked the API server. */
  const asked = () => apiServer.requests.filter(({ user }) => user?.username === 'provisioner');
  const lab = directory.project('acme', 'lab');
  const erin = directory.user('acme', 'erin');
  directory.assign(erin, 'member', { project: lab });
  const pods = `/api/v1/namespaces/${lab.id}/pods`;
  return { ...stonegate, configureBindings, directory, bound, statusOf, asked, lab, erin, pods };
}

for (const mode of ['arktos', 'shared'] satisfies Mode[]) {
  t.test(`${mode}: the first request of a new project's member finds namespace and rights`, async (t) => {
    const { statusOf, erin, lab, pods, bound, directory } = await setUp(t, { mode });
    t.equal(await statusOf(erin, { project: lab }, pods), 200);
    t.ok(
      bound().every(({ location }) => location.namespace === lab.id),
      'and nothing else was made',
    );
    const reader = directory.user('acme', 'frank');
    directory.assign(reader, 'reader', { project: lab });
    t.equal(await statusOf(reader, { project: lab }, pods), 200);
    t.equal(await statusOf(reader, { project: lab }, pods.replace('pods', 'secrets')), 403);
  });

  t.test(
    `${mode}: a project is provisioned once, however many of its users send requests at once`,
    async (t) => {
      const { statusOf, erin, lab, pods, asked, directory } = await setUp(t, { mode });
      const users = [erin, directory.user('acme', 'frank'), directory.user('acme', 'gina')];
      for (const user of users) directory.assign(user, 'member', { project: lab });
      const all = users.flatMap((user) => [user, user]).map((user) => statusOf(user, { project: lab }, pods));
      t.same(new Set(await Promise.all(all)), new Set([200]));
      const namespaces = asked().filter(
        ({ method, url }) => method === 'POST' && url.endsWith('/namespaces'),
      );
      t.equal(namespaces.length, 1);
      const before = asked().length;
      t.equal(await statusOf(erin, { project: lab }, pods), 200);
      t.equal(asked().length, before, 'and later requests ask nothing');
    },
  );

  t.test(
    `${mode}: as users, a user is bound on request, and a user who lost the role is unbound`,
    async (t) => {
      const { statusOf, erin, lab, pods, bound, directory } = await setUp(t, {
        mode,
        bindings: { subjects: 'users' },
      });
      const frank = directory.user('acme', 'frank');
      directory.assign(frank, 'member', { project: lab });
      t.equal(await statusOf(frank, { project: lab }, pods), 200);
      t.equal(bound().length, 2);
      directory.unassign(frank, 'member', { project: lab });
      t.equal(await statusOf(erin, { project: lab }, pods), 200);
      t.equal(bound().length, 1);
      directory.assign(erin, 'reader', { project: lab });
      t.equal(await statusOf(erin, { project: lab }, pods), 200);
      t.equal(bound().length, 2, 'a new role is bound with the first token that has it');
    },
  );

  t.test(
    `${mode}: one project's stale bindings are removed on a request of its users, another's stay`,
    async (t) => {
      const { statusOf, erin, lab, pods, bound, directory, configureBindings, app } = await setUp(t, {
        mode,
      });
      const other = directory.project('acme', 'other');
      directory.assign(erin, 'member', { project: other });
      await statusOf(erin, { project: lab }, pods);
      await statusOf(erin, { project: other }, pods);
      const count = (id: string) => bound().filter(({ location }) => location.namespace === id).length;
      const [inLab, inOther] = [count(lab.id), count(other.id)];
      await configureBindings({ provision: 'onRequest', ignore: { roles: ['reader'] } });
      await app.reload();
      await statusOf(erin, { project: lab }, pods);
      t.ok(count(lab.id) < inLab);
      t.equal(count(other.id), inOther);
    },
  );
}

t.test('arktos: a new domain gets its tenant with its first request', async (t) => {
  const { statusOf, directory } = await setUp(t);
  const project = directory.project('initech', 'core');
  const hank = directory.user('initech', 'hank');
  directory.assign(hank, 'member', { project });
  t.equal(await statusOf(hank, { project }, `/api/v1/namespaces/${project.id}/pods`), 200);
  t.equal(await statusOf(hank, { project }, '/api/v1/namespaces'), 403);
});

t.test(
  'shared: a domain token provisions nothing by itself, and counts in namespaces that users have caused',
  async (t) => {
    const { statusOf, erin, lab, pods, directory, bound } = await setUp(t, { mode: 'shared' });
    const boss = directory.user('acme', 'boss');
    directory.assign(boss, 'admin', { domain: boss.domain });
    t.equal(await statusOf(boss, { domain: boss.domain }, pods), 403);
    t.same(bound(), []);
    await statusOf(erin, { project: lab }, pods);
    t.equal(await statusOf(boss, { domain: boss.domain }, pods), 200);
  },
);

t.test('with role look-up, an unscoped token’s project is provisioned too', async (t) => {
  const stonegate = await setUp(t, { mode: 'shared' });
  const { keystone, configure, app, statusOf, erin, pods, lab, bound, directory } = stonegate;
  const password = {
    userName: 'bridge',
    userDomainName: 'Default',
    password: { fromFile: 'bridge-password' },
    scope: { system: true },
  };
  await configure({
    authentication: {
      keystone: {
        url: keystone.url,
        caFile: 'ca.crt',
        serviceCredential: { password },
        roleAssignments: { cacheTTL: '1m' },
      },
    },
    bindings: { provision: 'onRequest', credential: { tokenFile: 'provisioner-token' } },
  });
  await app.reload();
  const ivan = directory.user('acme', 'ivan');
  t.equal(await statusOf(ivan, undefined, pods), 403);
  t.same(bound(), [], 'nothing is created for a user without a role there');
  t.equal(await statusOf(erin, undefined, pods), 200);
  t.ok(bound().every(({ location }) => location.namespace === lab.id));
});

t.test('a request waits a few seconds at most, and then the API server decides', async (t) => {
  const { statusOf, erin, lab, pods, apiServer, asked } = await setUp(t);
  apiServer.breakNext('hang', ({ headers }) => headers.authorization === 'Bearer provisioner-token');
  t.equal(await statusOf(erin, { project: lab }, pods), 403);
  t.equal(await statusOf(erin, { project: lab }, pods), 403);
  t.ok(asked().length <= 10, 'it is not started a second time while it runs');
});

t.test('a failure admits no user, is logged once, and is not retried with each request', async (t) => {
  const { statusOf, erin, lab, pods, apiServer, logged, asked } = await setUp(t, { mode: 'shared' });
  // Several reads at once, each of which is repeated once for the sake of an API server that was just
  // started.
  const refused: string[] = [];
  for (let times = 0; times < 50; times += 1)
    apiServer.breakNext('403', ({ url = '', headers }) => {
      const isProvisioner = headers.authorization === 'Bearer provisioner-token';
      if (isProvisioner) refused.push(url);
      return isProvisioner;
    });
  t.equal(await statusOf(erin, { project: lab }, pods), 403);
  await eventually(() => refused.length === 2 * new Set(refused).size);
  const tried = refused.length;
  t.ok(tried > 0);
  for (let index = 0; index < 5; index += 1) t.equal(await statusOf(erin, { project: lab }, pods), 403);
  t.same([refused.length, asked()], [tried, []]);
  t.equal(logged.filter((line) => /"level":"error".*reconciling failed/.test(line)).length, 1);
});

t.test('a request without a valid credential or a project provisions nothing', async (t) => {
  const { ask, statusOf, erin, provider, pods, bound, asked } = await setUp(t, { mode: 'shared' });
  t.equal((await ask(undefined, pods)).status, 401);
  t.equal((await ask('gAAAAABnobodys', pods)).status, 401);
  t.equal(await statusOf(erin, undefined, pods), 403);
  t.equal((await ask(await provider.idToken('carol'), pods)).status, 403);
  t.same(bound(), []);
  t.same(asked(), []);
});

t.test('explain says what would be, and makes nothing', async (t) => {
  const { ask, keystone, apiServer, erin, lab, pods, asked } = await setUp(t, { mode: 'shared' });
  const rules = [{ verbs: ['create'], apiGroups: ['stonegate.dev'], resources: ['explanations'] }];
  apiServer.seed.clusterRole('explainer', rules);
  apiServer.seed.clusterRoleBinding('explainers', 'explainer', ['user:acme:erin']);
  const reply = await ask(keystone.issue(erin), '/apis/stonegate.dev/v1alpha1/explanations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      kind: 'Explanation',
      apiVersion: 'stonegate.dev/v1alpha1',
      spec: { request: { method: 'GET', path: pods }, token: keystone.issue(erin, { project: lab }) },
    }),
  });
  t.match(JSON.stringify(reply.json()), `keystone:project:${lab.id}:role:member`, 'it is explained');
  t.same(asked(), []);
});
