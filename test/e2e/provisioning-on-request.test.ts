/** Provisioning on request: a user's first request finds their project provisioned. */
import t, { type Test } from 'tap';
import { posted } from '../support/https-client.ts';
import type { Target, User } from '../support/keystone/directory.ts';
import { rule } from '../support/policy-rule.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const RBAC = 'rbac.authorization.k8s.io';

interface Options {
  readonly mode?: Mode;
  readonly bindings?: object;
}

async function setUp(t: Test, { mode = 'arktos', bindings = {} }: Options = {}) {
  // The controllers of other features would send requests with the same credential.
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
  /** The requests of provisioning to the API server. */
  const asked = () => apiServer.requests.filter(({ user }) => user?.username === 'provisioner');
  const lab = directory.project('acme', 'lab');
  const erin = directory.user('acme', 'erin');
  directory.assign(erin, 'member', { project: lab });
  const pods = `/api/v1/namespaces/${lab.id}/pods`;
  return { ...stonegate, configureBindings, directory, bound, statusOf, asked, lab, erin, pods };
}

for (const mode of ['arktos', 'shared'] satisfies Mode[]) {
  t.test(`${mode}: the first request of a new project's member finds a namespace and rights`, async (t) => {
    const { statusOf, erin, lab, pods, bound, directory } = await setUp(t, { mode });
    t.equal(await statusOf(erin, { project: lab }, pods), 200);
    t.ok(
      bound().every(({ location }) => location.namespace === lab.id),
      'no binding was created elsewhere',
    );
    const reader = directory.user('acme', 'frank');
    directory.assign(reader, 'reader', { project: lab });
    t.equal(await statusOf(reader, { project: lab }, pods), 200);
    t.equal(await statusOf(reader, { project: lab }, pods.replace('pods', 'secrets')), 403);
  });

  t.test(
    `${mode}: a user's request removes stale bindings of their project, but not of other projects`,
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
  'shared: a domain token provisions nothing, but has rights in namespaces provisioned for other users',
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

t.test('a request without a valid credential or a project provisions nothing', async (t) => {
  const { ask, statusOf, erin, provider, pods, bound, asked } = await setUp(t, { mode: 'shared' });
  t.equal((await ask(undefined, pods)).status, 401);
  t.equal((await ask('gAAAAABnobodys', pods)).status, 401);
  t.equal(await statusOf(erin, undefined, pods), 403);
  t.equal((await ask(await provider.idToken('carol'), pods)).status, 403);
  t.same(bound(), []);
  t.same(asked(), []);
});

t.test('explain describes what provisioning would give, and creates nothing', async (t) => {
  const { ask, keystone, apiServer, erin, lab, pods, asked } = await setUp(t, { mode: 'shared' });
  const rules = [rule('create', 'explanations', 'stonegate.dev')];
  apiServer.seed.clusterRole('explainer', rules);
  apiServer.seed.clusterRoleBinding('explainers', 'explainer', ['user:acme:erin']);
  const reply = await ask(
    keystone.issue(erin),
    '/apis/stonegate.dev/v1alpha1/explanations',
    posted({
      kind: 'Explanation',
      apiVersion: 'stonegate.dev/v1alpha1',
      spec: { request: { method: 'GET', path: pods }, token: keystone.issue(erin, { project: lab }) },
    }),
  );
  t.match(
    JSON.stringify(reply.json()),
    `keystone:project:${lab.id}:role:member`,
    'the group of the project’s role is explained',
  );
  t.same(asked(), []);
});
