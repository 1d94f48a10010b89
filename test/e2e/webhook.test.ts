/**
 * The webhook as an API server uses it: over TLS with client certificates, with the stand-ins of Keystone and
 * of the API server that stores the ConfigMaps.
 */
import { writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { configMapManifests } from '../../src/app/commands/rbac-manifests.ts';
import { defaultConfiguration } from '../../src/app/configuration.ts';
import { eventually } from '../support/eventually.ts';
import { rule } from '../support/policy-rule.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { createWebhookClient } from '../support/webhook.ts';

const IDENTITY = 'alpha.kubernetes.io/identity';
const POLICY = `[{
  "users": {"roles": ["member"], "projects": ["web"]},
  "resource_permissions": {"default/pods": ["get", "create"]},
  "nonresource_permissions": {"/healthz": ["get"]}
}]`;

const UNMAPPED = `
data-types-to-sync: [projects, role_assignments]
namespace-format: project-%i
`;
const SYNC = `${UNMAPPED}
role-mappings:
- {keystone-role: member, username: myuser, groups: [mygroup]}
- {keystone-role: reader, groups: [readers]}
- {keystone-role: member, groups: [another]}
`;
const PROVISIONER = 'provisioner-token';

const hookAuthority = await createAuthority('API servers');
const apiServer = await hookAuthority.client('kube-apiserver');
const untrusted = await (await createAuthority('another CA')).client('kube-apiserver');

async function start(
  t: Test,
  changes: object = {},
  others: Record<string, object> = {},
  mode: Mode = 'shared',
) {
  const folder = t.testdir({
    'hook-ca.crt': hookAuthority.cert,
    'policy.json': POLICY,
    'sync.yaml': SYNC,
    'sync-unmapped.yaml': UNMAPPED,
    'provisioner-token': PROVISIONER,
  });
  const tls = { certFile: 'tls.crt', keyFile: 'tls.key', clientCAFile: 'hook-ca.crt' };
  const webhook = { bind: '127.0.0.1:0', tls, policy: { file: 'policy.json' }, ...changes };
  const stonegate = await startStonegate(t, { folder, mode, configuration: { ...others, webhook } });
  const { port } = stonegate.app.addresses.webhook ?? {};
  if (port === undefined) throw new Error('there is no webhook');
  const client = createWebhookClient({ port, ca: stonegate.authority.cert, own: apiServer });
  t.teardown(() => client.close());
  return { stonegate, client, port, webhook };
}

type Started = Awaited<ReturnType<typeof start>>;

/** What the API server responds to a request with the token. */
async function statusAs({ apiServer, authority }: Started['stonegate'], token: string, path: string) {
  const options = { ca: authority.cert, agent: false, headers: { authorization: `Bearer ${token}` } };
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  get(`${apiServer.url}${path}`, options, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  }).on('error', reject);
  return promise;
}

/** Grants the rights that synchronisation needs according to the documentation. */
function admitProvisioner(seed: Started['stonegate']['apiServer']['seed']) {
  const rbac = 'rbac.authorization.k8s.io';
  seed.token(PROVISIONER, { username: 'provisioner', groups: ['system:authenticated'] });
  seed.clusterRole('provisioner', [
    rule('get,create', 'namespaces'),
    rule('get,list,create,update,delete', 'rolebindings', rbac),
    rule('bind', 'clusterroles', rbac),
  ]);
  seed.clusterRoleBinding('provisioner', 'provisioner', ['user:provisioner']);
}

/** A review of a request by alice of the project web in the namespace default. */
function aliceWants({ stonegate }: Started, resourceAttributes: object) {
  const { directory } = stonegate.keystone;
  return {
    user: 'acme:alice',
    groups: ['system:authenticated'],
    extra: {
      [`${IDENTITY}/roles`]: ['member'],
      [`${IDENTITY}/project/id`]: [directory.project('acme', 'web').id],
      [`${IDENTITY}/project/name`]: ['web'],
    },
    resourceAttributes: { namespace: 'default', group: '', version: 'v1', ...resourceAttributes },
  };
}

t.test('a token', async (t) => {
  const started = await start(t);
  const { stonegate, client } = started;
  const alice = stonegate.keystone.directory.user('acme', 'alice');
  const web = stonegate.keystone.directory.project('acme', 'web');

  for (const version of ['v1', 'v1beta1'] as const)
    t.test(`C242 a review of ${version} has a response in ${version}, without the token`, async (t) => {
      const { status, body } = await client.reviewToken(stonegate.keystoneToken('alice'), version);
      t.equal(status, 200);
      t.same(body, {
        apiVersion: `authentication.k8s.io/${version}`,
        kind: 'TokenReview',
        metadata: { creationTimestamp: null },
        status: {
          authenticated: true,
          user: {
            username: 'acme:alice',
            uid: alice.id,
            groups: [
              `keystone:project:${web.id}`,
              `keystone:project:${web.id}:role:member`,
              'stonegate:tenant:acme',
              'system:authenticated',
              web.id,
            ],
            extra: {
              [`${IDENTITY}/roles`]: ['member'],
              [`${IDENTITY}/project/id`]: [web.id],
              [`${IDENTITY}/project/name`]: ['web'],
              [`${IDENTITY}/user/domain/id`]: [alice.domain.id],
              [`${IDENTITY}/user/domain/name`]: ['acme'],
              'stonegate.dev/tenant': ['acme'],
            },
          },
        },
      });
    });

  t.test(
    'C244 of a service account, or of another issuer, is not authenticated, and Keystone never sees it',
    async (t) => {
      const before = stonegate.keystone.calls.length;
      for (const token of ['eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2ln', 'something-else']) {
        const { status, body } = await client.reviewToken(token);
        t.equal(status, 200);
        t.same(body.status, { authenticated: false });
      }
      t.equal(stonegate.keystone.calls.length, before);
    },
  );

  t.test('C245 is never in the log, even at the most verbose level', async (t) => {
    const token = stonegate.keystoneToken('alice');
    await client.reviewToken(token);
    await client.post(`{"spec":{"token":"${token}"`);
    t.same(
      stonegate.logged.filter((line) => line.includes(token)),
      [],
    );
    t.ok(stonegate.logged.some((line) => line.includes('webhook: reviewed')));
  });
});

t.test('no client without a certificate of the configured CA is served', async (t) => {
  const { stonegate, port } = await start(t);
  for (const own of [undefined, untrusted]) {
    const client = createWebhookClient({ port, ca: stonegate.authority.cert, ...(own && { own }) });
    await t.rejects(client.reviewToken('gAAAAA'));
    client.close();
  }
});

t.test('C243 a body that is not a review gets a 400 with a Status', async (t) => {
  const { client } = await start(t);
  const pod = { apiVersion: 'authentication.k8s.io/v1', kind: 'Pod', spec: { token: 'gAAAAA' } };
  for (const body of ['', pod])
    t.match(await client.post(body), { status: 400, body: { kind: 'Status', code: 400 } });
});

t.test('a rewritten policy file', async (t) => {
  const started = await start(t);
  const { stonegate, client } = started;
  const file = join(dirname(stonegate.configFile), 'policy.json');
  const wants = () => client.reviewAccess(aliceWants(started, { resource: 'secrets', verb: 'get' }));
  t.match((await wants()).body.status, { allowed: false });

  t.test('is in force after a reload', async (t) => {
    await writeFile(file, JSON.stringify([{ resource_permissions: { '*/*': ['*'] } }]));
    await stonegate.app.reload();
    t.match((await wants()).body.status, { allowed: true });
  });

  t.test(
    'C234 is not used if it is invalid: the last valid one stays, and the log says which line',
    async (t) => {
      await writeFile(file, JSON.stringify([{ resource: { verbs: ['get'], resources: ['pods'] } }]));
      await stonegate.app.reload();
      t.match((await wants()).body.status, { allowed: true });
      t.ok(stonegate.logged.some((line) => line.includes('[0].resource.version')));
    },
  );
});

t.test('if the webhook is removed while a review hangs, the replaced credential is not used', async (t) => {
  const configMap = { namespace: 'kube-system', name: 'k8s-auth-policy' };
  const { stonegate, client } = await start(t, { policy: { configMap }, configMapInterval: '10ms' });
  const { apiServer, app, ask, configFile, configure, keystone, keystoneToken } = stonegate;
  const looks = () => apiServer.requests.filter(({ url }) => url.includes(`configmaps/${configMap.name}`));
  await eventually(() => looks().length > 0);
  keystone.fault = 'hang';
  const review = client.reviewToken(keystoneToken('alice'));
  await eventually(() => keystone.hanging > 0);
  apiServer.seed.token('the-second-token', { username: 'stonegate' });
  await writeFile(join(dirname(configFile), 'apiserver-token'), 'the-second-token');
  await configure({});
  await app.reload();

  const before = looks().length;
  await eventually(() => looks().length > before + 2);
  const credentials = looks().slice(before + 1);
  t.same([...new Set(credentials.map(({ headers }) => headers.authorization))], ['Bearer the-second-token']);
  keystone.release();
  t.equal((await review).status, 200);
  t.equal((await client.reviewToken(keystoneToken('alice'))).status, 404);
  t.notOk(app.readiness().some(({ name }) => name.includes('k8s-auth-policy')));
  t.equal((await ask(keystoneToken('alice'), '/api/v1/namespaces/acme/pods')).status, 200);
});

t.test('a policy in a ConfigMap', async (t) => {
  const configMap = { namespace: 'kube-system', name: 'k8s-auth-policy' };
  const started = await start(t, { policy: { configMap }, configMapInterval: '10ms' });
  const { stonegate, client } = started;
  const { seed } = stonegate.apiServer;
  const ready = () => stonegate.app.readiness().find(({ name }) => name.includes('k8s-auth-policy'))?.reason;
  const pods = () => client.reviewAccess(aliceWants(started, { resource: 'pods', verb: 'get' }));

  t.test('that cannot be read allows nothing, and Stonegate is not ready', async (t) => {
    await eventually(() => /answered 403/.test(ready() ?? ''));
    t.match((await pods()).body.status, { allowed: false, evaluationError: /not been read/ });
  });

  t.test('is in force as soon as it is seen', async (t) => {
    const configuration = defaultConfiguration({
      tenancy: { mode: 'shared' },
      webhook: {
        bind: '127.0.0.1:0',
        tls: { certFile: 'a', keyFile: 'b', clientCAFile: 'c' },
        policy: { configMap },
      },
    });
    for (const document of configMapManifests(configuration, { kind: 'User', name: 'stonegate' }, '')) {
      const { apiVersion, kind, metadata, ...body } = document.toJS();
      seed.object(`${apiVersion}/${kind.toLowerCase()}s`, metadata.name, body, metadata);
    }
    seed.configMap(configMap.name, { policies: POLICY }, { namespace: configMap.namespace });
    await eventually(async () => JSON.stringify((await pods()).body.status).includes('"allowed":true'));
    t.equal(ready(), undefined);
  });
});

t.test('with a synchronisation file', async (t) => {
  const bindings = { credential: { tokenFile: 'provisioner-token' } };
  const { stonegate, client } = await start(t, { sync: { file: 'sync.yaml' } }, { bindings });
  const { directory } = stonegate.keystone;
  const { seed } = stonegate.apiServer;
  const project = directory.project('acme', 'web');
  const alice = directory.user('acme', 'alice');
  admitProvisioner(seed);
  seed.clusterRole('member', [rule('get,list', 'configmaps')]);

  t.test(
    'C240 every mapping that matches applies, in order: groups are added, the name is replaced',
    async (t) => {
      const { body } = await client.reviewToken(stonegate.keystoneToken('alice'));
      t.match(body.status, { authenticated: true, user: { username: 'myuser', uid: alice.id } });
      t.match(JSON.stringify(body.status), '"mygroup","another"]');
    },
  );

  t.test('a project gets its namespace, a user’s roles become rolebindings', async (t) => {
    seed.token('myuser-token', { username: 'myuser', groups: ['system:authenticated'] });
    const path = `/api/v1/namespaces/project-${project.id}/configmaps`;
    await eventually(async () => (await statusAs(stonegate, 'myuser-token', path)) === 200);
    t.equal(await statusAs(stonegate, 'myuser-token', '/api/v1/namespaces/default/configmaps'), 403);
  });
});

t.test('in arktos mode, objects are synchronised into the user’s tenant', async (t) => {
  const bindings = { credential: { tokenFile: 'provisioner-token' } };
  const { stonegate, client } = await start(
    t,
    { sync: { file: 'sync-unmapped.yaml' } },
    { bindings, tenancy: { domains: { Operators: 'system' } } },
    'arktos',
  );
  const { seed } = stonegate.apiServer;
  const { directory } = stonegate.keystone;
  admitProvisioner(seed);
  seed.clusterRole('member', [rule('list', 'configmaps')], { tenant: 'acme' });
  const [oscar, ops] = [directory.user('Operators', 'oscar'), directory.project('Operators', 'ops')];
  directory.assign(oscar, 'member', { project: ops });
  const operator = await client.reviewToken(stonegate.keystone.issue(oscar, { project: ops }));
  t.match(operator.body.status, { user: { username: 'system:stonegate:oscar' } });
  const { body } = await client.reviewToken(stonegate.keystoneToken('alice'));
  t.match(body.status, { user: { username: 'acme:alice' } });
  const { id } = directory.project('acme', 'web');
  const path = `/apis/rbac.authorization.k8s.io/v1/tenants/acme/namespaces/project-${id}/rolebindings`;
  const made = await stonegate.apiServer.arrival(({ method, url }) => method === 'POST' && url === path);
  t.equal(await made.ended, 'answered');
  t.equal(made.user?.username, 'provisioner');
  const binding = `${path}/${directory.user('acme', 'alice').id}_member`;
  t.equal(await statusAs(stonegate, PROVISIONER, binding), 200);
  const writes = stonegate.apiServer.requests.filter(({ method }) => method === 'POST');
  t.notOk(
    writes.some(({ url }) => url.includes(`project-${ops.id}`)),
    'nothing is bound in the system tenant, where it would apply to every tenant',
  );
});
