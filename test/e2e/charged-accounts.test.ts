/**
 * What users cause is charged to their tenant: it does not wait for the connections of Stonegate's own, which
 * quota reviews, leases and controllers use. Here all of these are in use, and one more request waits.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { createHttpsClient, posted } from '../support/https-client.ts';
import { rule } from '../support/policy-rule.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { startTokenStandIn } from '../support/token-standin.ts';
import { createWebhookClient } from '../support/webhook.ts';

const OWN = '/apis/stonegate.dev/v1alpha1';
const TLS = { certFile: 'tls.crt', keyFile: 'tls.key' };
const SYNC = { 'data-types-to-sync': ['projects'], 'namespace-format': 'synchronised-%i' };
/** Stonegate's own connections, and one request that waits. */
const HELD = 17;

const hookAuthority = await createAuthority('API servers');

async function start() {
  const stonegate = await startTokenStandIn(t, {
    configuration: {
      bindings: { provision: 'onRequest', credential: { tokenFile: 'provisioner-token' } },
      access: { index: true },
      members: {},
      admission: { bind: '127.0.0.1:0', tls: TLS },
      quota: { default: { pods: '10' } },
      limits: { tenantQueue: { requests: 1 } },
      webhook: {
        ...{ bind: '127.0.0.1:0', tls: { ...TLS, clientCAFile: 'hook-ca.crt' } },
        sync: { file: 'sync.yaml' },
      },
    },
    async prepare({ apiServer: { seed }, configFile }) {
      const all = [rule('*', '*', '*')];
      seed.clusterRole('everything', all, { tenant: 'acme' });
      seed.clusterRoleBinding('admins', 'everything', ['user:acme:alice'], { tenant: 'acme' });
      await writeFile(join(dirname(configFile), 'hook-ca.crt'), hookAuthority.cert);
      await writeFile(join(dirname(configFile), 'sync.yaml'), stringify(SYNC));
    },
  });
  const { app, authority } = stonegate;
  const admission = createHttpsClient({ port: app.addresses.admission?.port ?? 0, ca: authority.cert });
  const own = await hookAuthority.client('kube-apiserver');
  const webhook = createWebhookClient({ port: app.addresses.webhook?.port ?? 0, ca: authority.cert, own });
  t.teardown(admission.close);
  t.teardown(webhook.close);
  return { ...stonegate, admission, webhook };
}

/** A review of a pod of that tenant. */
function podOf(tenant: string) {
  const metadata = { name: 'x', namespace: 'default', tenant, uid: randomUUID() };
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  const request = {
    ...{ uid: randomUUID(), operation: 'CREATE', namespace: 'default' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    userInfo: { username: `${tenant}:bob`, groups: ['system:authenticated'] },
    object: { apiVersion: 'v1', kind: 'Pod', metadata, spec },
  };
  return posted({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request });
}

const stonegate = await start();
const { apiServer, keystone, ask, make, rotate, keystoneToken } = stonegate;
const alice = keystoneToken('alice');
const create = (resource: string, object: object) =>
  ask(alice, `${OWN}/${resource}`, posted({ apiVersion: 'stonegate.dev/v1alpha1', ...object }));
const { name } = await make(alice, 'read');
await eventually(async () => (await ask(alice, `${OWN}/namespaces/default/members`)).status === 200);

const isHeld = ({ url = '' }) => /\/tenantquotas\/held-\d+$/.test(url);
for (let at = 0; at < HELD; at += 1) apiServer.breakNext('hang', isHeld);
const reviews = Array.from({ length: HELD }, (_, at) =>
  stonegate.admission.ask(undefined, '/quota/core/pods', podOf(`held-${at}`)).catch(() => undefined),
);
t.teardown(async () => {
  await stonegate.close();
  await Promise.all(reviews);
});
await eventually(() => apiServer.requests.filter(isHeld).length === HELD - 1);

t.test('a review of one more tenant is refused, since nothing is free', async (t) => {
  const { body } = await stonegate.admission.ask(undefined, '/quota/core/pods', podOf('other'));
  t.match(body, /"allowed":false/);
});

t.test('users make and rotate access tokens', async (t) => {
  t.ok(await make(alice, 'read'));
  t.equal((await rotate(alice, { name })).status, 201);
});

t.test('users make teams and invitations', async (t) => {
  const team = { kind: 'Team', metadata: { name: 'web' }, spec: { members: ['carol'] } };
  t.match(await create('teams', team), { status: 201 });
  t.match(await create('invitations', { kind: 'Invitation', spec: { team: 'web' } }), { status: 201 });
});

t.test('a first request finds its project provisioned', async (t) => {
  const { directory } = keystone;
  const project = directory.project('acme', 'lab');
  const erin = directory.user('acme', 'erin');
  directory.assign(erin, 'member', { project });
  const pods = `/api/v1/namespaces/${project.id}/pods`;
  t.equal((await ask(keystone.issue(erin, { project }), pods)).status, 200);
});

t.test('the webhook synchronises the project of a token', async () => {
  const project = keystone.directory.project('acme', 'web');
  await stonegate.webhook.reviewToken(alice);
  const namespace = { group: '', resource: 'namespaces', tenant: 'acme', name: `synchronised-${project.id}` };
  await eventually(() => apiServer.cluster.store.list(namespace).length === 1);
});
