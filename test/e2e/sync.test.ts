/** `stonegate sync` against a Keystone and an API server, and what users may do afterwards. */
import t, { type Test } from 'tap';
import { posted } from '../support/https-client.ts';
import { admitProvisioner, type ProvisionerOptions } from '../support/provisioner.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const RBAC = 'rbac.authorization.k8s.io';

async function setUp(t: Test, options: ProvisionerOptions) {
  const { mode } = options;
  const stonegate = await startStonegate(t, { mode });
  const { apiServer, keystone } = stonegate;
  const { directory } = keystone;
  // Keystone's first domain has no tenant; on Arktos an administrator created the tenants of the others.
  const foreign = [
    directory.domain('Default'),
    ...(mode === 'arktos' ? [directory.domain('acme'), directory.domain('globex')] : []),
  ];
  const domains = Object.fromEntries(foreign.map(({ id }) => [id, { ignore: true }]));
  const bindings = { domains, ...options.bindings };
  const provisioner = await admitProvisioner(stonegate, { ...options, bindings });
  const web = directory.project('initech', 'web');
  const alice = directory.user('initech', 'alice');
  const dave = directory.user('initech', 'dave');
  directory.assign(alice, 'member', { project: web });
  directory.assign(alice, 'reader', { project: web });
  directory.assign(dave, 'reader', { project: web });
  // Keystone's own roles, which no user has yet.
  directory.role('admin');
  const list = (resource: string, group = RBAC, tenant = mode === 'arktos' ? 'initech' : '') =>
    apiServer.cluster.store.list({ group, resource, tenant });
  const statusOf = async (token: string, path: string) => (await stonegate.ask(token, path)).status;
  const namesOf = (resource: string, group = RBAC) =>
    list(resource, group).map(({ location }) => `${location.namespace}/${location.name}`);
  const ours = () => namesOf('rolebindings').filter((name) => /\/stonegate-[0-9a-f]{40}$/.test(name));
  return { ...stonegate, ...provisioner, directory, web, alice, dave, list, namesOf, ours, statusOf };
}

for (const mode of ['arktos', 'shared'] satisfies Mode[]) {
  t.test(`${mode}: a project's users work in its namespace with the role of their token`, async (t) => {
    const { sync, keystone, directory, web, alice, dave, statusOf } = await setUp(t, { mode });
    t.match(await sync(), { code: 0, stdout: /^\[1\/\d+\] create /, stderr: '' });
    const inWeb = (resource: string) => `/api/v1/namespaces/${web.id}/${resource}`;
    const member = keystone.issue(alice, { project: web });
    const reader = keystone.issue(dave, { project: web });
    t.equal(
      await statusOf(member, inWeb('secrets')),
      200,
      'a member has access to everything, secrets included',
    );
    t.equal(await statusOf(reader, inWeb('pods')), 200, 'a reader reads');
    t.equal(await statusOf(reader, inWeb('secrets')), 403, 'but no secrets');
    const delegated = directory.applicationCredential(alice, web, { roles: ['reader'] });
    const methods = ['application_credential'];
    const narrow = keystone.issue(alice, { project: web }, { methods, applicationCredential: delegated });
    t.equal(
      await statusOf(narrow, inWeb('secrets')),
      403,
      'a narrower credential gives no more than its own roles',
    );
  });

  t.test(`${mode}: the namespace of a project has the quota that Keystone's limits give it`, async (t) => {
    const keystoneLimits = { service: 'kubernetes', resources: { pods: 'pods' } };
    const withQuotas = {
      admission: { bind: '127.0.0.1:0', tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
      quota: { default: { pods: '10' }, keystoneLimits },
    };
    const { sync, directory, web, list } = await setUp(t, { mode, withQuotas });
    directory.limits.push({ resource: 'pods', limit: 10 });
    directory.limits.push({ resource: 'pods', limit: 4, of: { project: web } });
    t.match(await sync(), { code: 0, stderr: '' });
    t.match(await sync(), { code: 0, stdout: /^0 done/ });
    const quotas = list('resourcequotas', '').filter(({ location }) => location.namespace === web.id);
    t.match(quotas, [{ location: { name: 'stonegate-project' }, object: { spec: { hard: { pods: '4' } } } }]);
  });

  t.test(
    `${mode}: if something is refused, sync exits with 1 and says what to do, and the rest is done`,
    async (t) => {
      const { sync, ours } = await setUp(t, { mode, bindings: { domains: {} } });
      const { code, stdout, stderr } = await sync();
      t.equal(code, 1);
      t.match(stdout, / 0 failed, .* [13] refused$/m);
      t.match(stderr, /^refused: domain Default .* tenancy\.domains$/m);
      t.match(stderr, /^Correct what is refused, .*`ignore: true` in bindings\.domains\.ID/m);
      t.ok(ours().length > 0);
    },
  );

  t.test(`${mode}: many removals at once wait for --force`, async (t) => {
    const { sync, directory, ours } = await setUp(t, { mode });
    await sync();
    const before = ours();
    for (const project of directory.projects) project.enabled = false;
    t.match(await sync(), { code: 1, stderr: /\d removals .* wait for --force, .*\((\d) of \1\)/ });
    t.same(ours(), before);
    t.match(await sync('--force'), { code: 0 });
    t.same(ours(), []);
  });
}

t.test('arktos: a new domain gets a tenant, whose users may review their own access', async (t) => {
  const { sync, ask, keystone, directory, web, alice, statusOf, list } = await setUp(t, { mode: 'arktos' });
  const boss = directory.user('initech', 'boss');
  directory.assign(boss, 'admin', { domain: web.domain });
  t.match(await sync(), { code: 0, stdout: /create Tenant - initech/ });
  const member = keystone.issue(alice, { project: web });
  t.equal(await statusOf(member, `/api/v1/namespaces/${web.id}/pods`), 200);
  t.equal(await statusOf(member, '/api/v1/namespaces'), 403);
  const admin = keystone.issue(boss, { domain: web.domain });
  t.equal(
    await statusOf(admin, '/api/v1/namespaces'),
    200,
    'a role on the domain applies in the whole tenant',
  );
  t.equal(
    list('clusterrolebindings', RBAC, 'system').filter(({ location }) => /-[0-9a-f]{40}$/.test(location.name))
      .length,
    0,
  );
  const review = await ask(
    member,
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    posted({
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { resourceAttributes: { namespace: web.id, verb: 'list', resource: 'pods' } },
    }),
  );
  t.match(review.json().status, { allowed: true });
});

t.test(
  'D337 on Arktos a role on the domain that a user has lost no longer applies anywhere in the tenant',
  async (t) => {
    const bindings = { subjects: 'users', maxDeletedShare: 1 };
    const { sync, keystone, directory, web, list, statusOf } = await setUp(t, { mode: 'arktos', bindings });
    const boss = directory.user('initech', 'boss');
    const { domain } = web;
    directory.assign(boss, 'admin', { domain });
    directory.assign(boss, 'reader', { domain });
    await sync();
    const token = keystone.issue(boss, { domain });
    t.equal(await statusOf(token, '/api/v1/secrets'), 200);
    const before = list('clusterrolebindings').length;
    directory.unassign(boss, 'admin', { domain });
    t.match(await sync(), { code: 0, stdout: /delete ClusterRoleBinding/ });
    t.equal(list('clusterrolebindings').length, before - 1);
    t.equal(await statusOf(token, '/api/v1/secrets'), 403, 'even with a token that still has the role');
    t.equal(await statusOf(token, '/api/v1/pods'), 200, 'the remaining role still applies');
  },
);

t.test('arktos: in a tenant that Stonegate did not create, roles on the domain are not bound', async (t) => {
  const { sync, keystone, directory, statusOf } = await setUp(t, {
    mode: 'arktos',
    bindings: { domains: {} },
  });
  const domain = directory.domain('acme');
  const boss = directory.user('acme', 'boss');
  directory.assign(boss, 'admin', { domain });
  t.match(await sync(), { stderr: /refused: domain acme .*was not created by Stonegate/ });
  t.equal(await statusOf(keystone.issue(boss, { domain }), '/api/v1/namespaces'), 403);
});

t.test(
  'arktos: sync and check warn of role bindings of the system tenant, which apply in every tenant',
  async (t) => {
    const { sync, check, apiServer } = await setUp(t, { mode: 'arktos' });
    apiServer.seed.roleBinding('ops', 'view', ['group:keystone:system:role:admin']);
    const stderr =
      /^warning: .*the RoleBinding default\/ops of the tenant system applies in .* every tenant$/m;
    t.match(await sync('--dry-run'), { code: 0, stderr });
    t.match(await check(), { code: 0, stderr });
  },
);

t.test("shared: a role on the domain applies in that domain's namespaces and nowhere else", async (t) => {
  const { sync, keystone, directory, web, statusOf } = await setUp(t, { mode: 'shared' });
  const boss = directory.user('initech', 'boss');
  directory.assign(boss, 'admin', { domain: web.domain });
  await sync();
  const token = keystone.issue(boss, { domain: web.domain });
  const other = directory.project('globex', 'web');
  t.equal(await statusOf(token, `/api/v1/namespaces/${web.id}/secrets`), 200);
  t.equal(await statusOf(token, `/api/v1/namespaces/${other.id}/pods`), 403);
  t.equal(await statusOf(token, '/api/v1/namespaces'), 403);
});

for (const mode of ['arktos', 'shared'] satisfies Mode[])
  t.test(`${mode}: check fails if the API server does not let Stonegate impersonate users`, async (t) => {
    const { check, apiServer } = await setUp(t, { mode });
    t.notMatch((await check()).stderr, /may not impersonate/);
    apiServer.seed.token('stonegate-own-token', { username: 'without-rights' });
    const error = /^error: upstream\.credential: may not impersonate users and groups/m;
    t.match(await check(), { code: 1, stderr: error });
  });
