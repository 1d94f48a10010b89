/**
 * If any part cannot be created from the new files, the whole reload is refused: every listener, the
 * pipeline, the caches, the portal and the webhook stay unchanged. A part may fail although the files are
 * valid: here OpenSSL parses a certificate but refuses to use it.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tls, { connect, type SecureContextOptions } from 'node:tls';
import t, { type Test } from 'tap';
import { freePort } from '../support/free-port.ts';
import { askOnce } from '../support/open-request.ts';
import { isForClient } from '../support/own-questions.ts';
import { rule } from '../support/policy-rule.ts';
import { startStonegate } from '../support/stonegate.ts';
import { createAuthority, type KeyPair } from '../support/tls/authority.ts';
import { createIssuer, type Subject } from '../support/tls/issuer.ts';
import { createWebhookClient } from '../support/webhook.ts';

const NAMESPACES = '/api/v1/namespaces';
const BOB: Subject = [
  ['O', 'tenant:acme'],
  ['OU', 'dev'],
  ['CN', 'bob'],
];
const company = createIssuer('company');
const partner = createIssuer('partner');
const hooks = await createAuthority('API servers');
const otherHooks = await createAuthority('other API servers');
const doomed = await hooks.client('doomed');
const DOOMED = { certFile: 'doomed.crt', keyFile: 'doomed.key' };
const RENEWED = { certFile: 'renewed.crt', keyFile: 'renewed.key' };
const ALLOWS_NOBODY = '[]';
const ALLOWS_ALL = '[{ "resource_permissions": { "*/*": ["*"] } }]';

const EXTRA = {
  'alpha.kubernetes.io/identity/roles': ['member'],
  'alpha.kubernetes.io/identity/project/name': ['web'],
};

const webhook = {
  bind: '127.0.0.1:0',
  tls: { certFile: 'tls.crt', keyFile: 'tls.key', clientCAFile: 'hooks.crt' },
  policy: { file: 'policy.json' },
};
const BEFORE = { authentication: { clientCertificates: { caFile: 'company.crt' } }, webhook };
/** A configuration that changes every part. */
const AFTER = {
  server: { tls: RENEWED },
  authentication: {
    clientCertificates: { caFile: 'partner.crt', usernamePrefix: 'partner:', groupsPrefix: 'partner:' },
    jwt: [],
  },
  portal: { tls: RENEWED, oidc: [], keystone: { displayName: 'The New Cloud' } },
  webhook: {
    ...webhook,
    tls: { ...RENEWED, clientCAFile: 'other-hooks.crt' },
    policy: { file: 'other-policy.json' },
  },
};

const { createSecureContext } = tls;
/** A TLS version is set only where a certificate is used, not where it is parsed. */
tls.createSecureContext = (options?: SecureContextOptions) => {
  if (options?.minVersion !== undefined && String(options.cert) === doomed.cert) throw new Error('doomed');
  return createSecureContext(options);
};
syncBuiltinESMExports();

const KEYSTONE = { url: 'https://127.0.0.1:1/v3', caFile: 'ca.crt' };
const SERVICE = {
  userName: 'bridge',
  userDomainName: 'Default',
  password: { fromFile: 'service-password' },
  scope: { system: true },
};

const broken: Record<string, Record<string, object>> = {
  "the API's listener": { server: { tls: DOOMED } },
  'the connection to the API server': {
    upstream: { credential: DOOMED },
  },
  'the connection that provisions': {
    bindings: { provision: 'onRequest', credential: DOOMED },
    authentication: {
      ...AFTER.authentication,
      keystone: { ...KEYSTONE, serviceCredential: { password: SERVICE } },
    },
  },
  'the connection that the webhook synchronises with': {
    bindings: { credential: DOOMED },
    webhook: { ...AFTER.webhook, sync: { file: 'sync.yaml' } },
  },
  "the portal's listener": { portal: { ...AFTER.portal, tls: DOOMED } },
  "the webhook's listener": {
    webhook: { ...AFTER.webhook, tls: { ...AFTER.webhook.tls, ...DOOMED } },
  },
};

async function setUp(t: Test) {
  const folder = t.testdir({
    'company.crt': company.cert,
    'partner.crt': partner.cert,
    'hooks.crt': hooks.cert,
    'other-hooks.crt': otherHooks.cert,
    'policy.json': ALLOWS_NOBODY,
    'other-policy.json': ALLOWS_ALL,
    'service-password': 'service-password',
    'sync.yaml': 'data-types-to-sync: [projects]',
    'doomed.crt': doomed.cert,
    'doomed.key': doomed.key,
  });
  const portal = { port: await freePort() };
  const stonegate = await startStonegate(t, { folder, portal, configuration: BEFORE });
  const { app, apiServer, authority } = stonegate;
  const renewed = await authority.server('renewed');
  await writeFile(join(folder, 'renewed.crt'), renewed.cert);
  await writeFile(join(folder, 'renewed.key'), renewed.key);
  apiServer.seed.clusterRole('any', [rule('*', '*', '*')], {
    tenant: 'acme',
  });
  apiServer.seed.clusterRoleBinding('any', 'any', ['group:x509:dev', 'group:partner:dev'], {
    tenant: 'acme',
  });
  const ports = [app.address.port, portal.port, app.addresses.webhook?.port ?? 0];

  async function hook(client: KeyPair) {
    const own = createWebhookClient({ port: ports[2] ?? 0, ca: authority.cert, own: client });
    const resourceAttributes = { namespace: 'default', resource: 'pods', verb: 'get' };
    const review = own.reviewAccess({ user: 'acme:alice', groups: [], extra: EXTRA, resourceAttributes });
    const answered = await review.then(({ body }) => body.status).catch(() => 'no connection');
    own.close();
    return answered;
  }

  return {
    ...stonegate,
    folder,
    names: () => Promise.all(ports.map((port) => servedName(port, authority.cert))),
    async as(credential: KeyPair) {
      const { port } = app.address;
      const { status } = await askOnce({ port, ca: authority.cert, ...credential }, undefined, NAMESPACES);
      return { status, user: apiServer.requests.filter(isForClient).at(-1)?.headers['impersonate-user'] };
    },
    hook,
    portalPage: async () => page(`https://localhost:${portal.port}/login`, authority.cert),
  };
}

async function servedName(port: number, ca: string) {
  const socket = connect({ port, host: '127.0.0.1', ca });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return name;
}

function page(url: string, ca: string) {
  return new Promise((resolve, reject) => {
    get(url, { ca, agent: false }, (response) => text(response).then(resolve, reject)).on('error', reject);
  });
}

for (const [part, change] of Object.entries(broken))
  t.test(`if ${part} cannot be created from the new files, everything stays unchanged`, async (t) => {
    const { app, ask, as, configure, hook, keystone, keystoneToken, logged, names, portalPage, provider } =
      await setUp(t);
    const [alice, carol] = [keystoneToken('alice'), await provider.idToken('carol')];
    t.equal((await ask(alice, NAMESPACES)).status, 200);
    await configure({ ...AFTER, ...change });
    await app.reload();
    t.match(logged.join(''), /Error: doomed.*the last valid one stays in force/);

    t.same(await names(), ['stonegate', 'stonegate', 'stonegate'], 'certificates');
    t.same(await as(company.issue(BOB)), { status: 200, user: 'acme:x509:bob' });
    t.equal((await as(partner.issue(BOB))).status, 401, 'the new CA authenticates no user');
    t.equal((await ask(carol, NAMESPACES)).status, 200, 'the issuer is still configured');
    t.match(await portalPage(), /Acme/);
    t.notMatch(await portalPage(), /The New Cloud/);
    t.match(await hook(await hooks.client('kube-apiserver')), { allowed: false });
    t.equal(await hook(await otherHooks.client('kube-apiserver')), 'no connection');

    t.equal((await ask(alice, NAMESPACES)).status, 200);
    keystone.revoke(alice);
    t.equal((await ask(alice, NAMESPACES)).status, 200, 'the revoked token is still cached');
    await app.reload();
    t.equal((await ask(alice, NAMESPACES)).status, 401, 'SIGHUP empties the caches that are in force');
  });

t.test('after the files are corrected, a reload applies all changes', async (t) => {
  const { app, ask, as, configure, hook, names, portalPage, provider } = await setUp(t);
  await configure({ ...AFTER, ...broken["the webhook's listener"] });
  await app.reload();
  await configure(AFTER);
  await app.reload();
  t.same(await names(), ['renewed', 'renewed', 'renewed']);
  t.same(await as(partner.issue(BOB)), { status: 200, user: 'acme:partner:bob' });
  t.equal((await as(company.issue(BOB))).status, 401);
  t.equal((await ask(await provider.idToken('carol'), NAMESPACES)).status, 401);
  t.match(await portalPage(), /The New Cloud/);
  t.match(await hook(await otherHooks.client('kube-apiserver')), { allowed: true });
});
