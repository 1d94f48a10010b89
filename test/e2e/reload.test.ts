/**
 * Files change while the program runs: what takes effect, and what stays. Only the test of C150 waits until
 * Stonegate notices a change without a signal; all files are watched in the same way.
 */
import { once } from 'node:events';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import t, { type Test } from 'tap';
import { createApiServer } from '../support/apiserver/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { startSigningIssuer } from '../support/oidc/signing-issuer.ts';
import { openRequest } from '../support/open-request.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { KeyPair } from '../support/tls/authority.ts';

const NAMESPACES = '/api/v1/namespaces';
const WATCH = '/api/v1/namespaces/default/configmaps?watch=true';

async function setUp(t: Test, configuration: Record<string, object> = {}) {
  const folder = t.testdir();
  const stonegate = await startStonegate(t, { folder, configuration });
  const { apiServer } = stonegate;
  const { destination } = stonegate;
  return {
    ...stonegate,
    destination,
    write: (name: string, content: string) => writeFile(join(folder, name), content),
    folder,
    /** The credential on the last request for this path. */
    sentFor: (path: string) =>
      apiServer.requests.findLast(({ url }) => url.includes(path))?.headers.authorization,
    said: (message: string) => stonegate.logged.filter((line) => line.includes(message)).length,
  };
}

t.test(
  'C258 if an issuer is removed, its users are refused at once, cached or not; other users are not affected',
  async (t) => {
    const { app, ask, provider, keystoneToken, configure } = await setUp(t);
    const carol = await provider.idToken('carol');
    const alice = keystoneToken('alice');
    t.equal((await ask(carol, NAMESPACES)).status, 200);
    t.equal((await ask(alice, NAMESPACES)).status, 200);
    await configure({ authentication: { jwt: [] } });
    await app.reload();
    t.equal((await ask(carol, NAMESPACES)).status, 401);
    t.equal((await ask(alice, NAMESPACES)).status, 200);
  },
);

t.test(
  'C258 if Keystone is removed while it validates a token, the watch with that token ends soon',
  async (t) => {
    const { app, destination, keystoneToken, configure, keystone } = await setUp(t);
    // No recheck can end the watch.
    const limits = { streams: { recheck: '1h' } };
    await configure({ limits });
    await app.reload();
    keystone.fault = 'hang';
    const watch = openRequest(destination, keystoneToken('alice'), WATCH);
    await eventually(() => keystone.hanging > 0);
    await configure({ limits, authentication: { keystone: undefined } });
    await app.reload();
    keystone.release();
    t.equal((await watch.head).statusCode, 200, 'the previous configuration decides the request');
    t.ok((await watch.answered).complete, 'a watch ends cleanly, long before limits.streams.recheck');
  },
);

t.test('a changed tenant mapping also applies to cached identities', async (t) => {
  const { app, ask, keystoneToken, configure, keystone } = await setUp(t);
  const user = keystone.directory.user('ACME Inc', 'dora');
  const project = keystone.directory.project('ACME Inc', 'web');
  keystone.directory.assign(user, 'member', { project });
  const dora = keystone.issue(user, { project });
  t.match((await ask(dora, NAMESPACES)).json(), { code: 403, message: /tenant/ });
  await configure({ tenancy: { domains: { 'ACME Inc': 'acme-inc' } } });
  await app.reload();
  const { message } = (await ask(dora, NAMESPACES)).json();
  t.match(message, 'User "acme-inc:dora" cannot list', 'now it is the API server that refuses');
  t.equal((await ask(keystoneToken('alice'), NAMESPACES)).status, 200);
});

t.test('an expired certificate is used, and the log warns of it', async (t) => {
  const { app, authority, said, write } = await setUp(t);
  const period = { notBeforeDate: new Date(0), notAfterDate: new Date('2001-01-01T00:00:00Z') };
  const expired = await authority.server('localhost', [], period);
  t.equal(said('a certificate is not valid at the moment'), 0);
  await write('tls.crt', expired.cert);
  await write('tls.key', expired.key);
  await app.reload();
  t.equal(said('the new configuration is not used'), 0);
  t.equal(said('server.tls.certFile'), 1);
});

t.test('a setting that needs a restart is logged, and requests continue', async (t) => {
  const { ask, app, keystoneToken, configure, said } = await setUp(t);
  await configure({ server: { timeouts: { header: '60s', body: '2s' }, limits: { bodyBytes: 1_000_000 } } });
  await app.reload();
  t.equal(said('need a restart'), 0, 'these settings need none');
  await configure({ server: { shutdownGrace: '1s' } });
  await app.reload();
  t.equal(said('"fields":["server.shutdownGrace"]'), 1);
  t.equal((await ask(keystoneToken('alice'), NAMESPACES)).status, 200);
});

t.test(
  'C150 a certificate behind the double symlink of a mounted secret is served after each of two swaps',
  async (t) => {
    const { app, authority, configure, destination, folder, keystoneToken, apiServer } = await setUp(t);
    const mount = join(folder, 'mounted');
    await mkdir(mount);
    let version = 0;
    /** As the kubelet does it: a new folder, a new link beside the old one, and a rename over it. */
    async function publish({ cert, key }: KeyPair) {
      version += 1;
      const data = `..${version}`;
      await mkdir(join(mount, data));
      await writeFile(join(mount, data, 'tls.crt'), cert);
      await writeFile(join(mount, data, 'tls.key'), key);
      await symlink(data, join(mount, '..data_tmp'));
      await rename(join(mount, '..data_tmp'), join(mount, '..data'));
      if (version > 1) await rm(join(mount, `..${version - 1}`), { recursive: true });
    }
    const servedName = async () => {
      const socket = connect({ port: app.address.port, host: '127.0.0.1', ca: authority.cert });
      await once(socket, 'secureConnect');
      const name = socket.getPeerCertificate().subject.CN;
      socket.destroy();
      return name;
    };
    await publish(await authority.server('first'));
    for (const name of ['tls.crt', 'tls.key']) await symlink(join('..data', name), join(mount, name));
    await configure({ server: { tls: { certFile: 'mounted/tls.crt', keyFile: 'mounted/tls.key' } } });
    await app.reload();
    t.equal(await servedName(), 'first');
    const watch = openRequest(destination, keystoneToken('alice'), WATCH);
    await watch.until('"settings"');

    await publish(await authority.server('second'));
    await eventually(async () => (await servedName()) === 'second');
    await publish(await authority.server('third'));
    await eventually(async () => (await servedName()) === 'third');

    apiServer.seed.configMap('after-two-swaps', {}, { tenant: 'acme' });
    await watch.until('after-two-swaps');
    t.pass('an existing connection continues');
    watch.leave();
  },
);

t.test('C066 a new token for the API server: the next request carries it, watches continue', async (t) => {
  const { app, ask, apiServer, destination, keystoneToken, sentFor, write } = await setUp(t);
  const alice = keystoneToken('alice');
  const watch = openRequest(destination, alice, WATCH);
  await watch.until('"settings"');
  const before = sentFor('watch=true');
  apiServer.seed.token('the-second-token', { username: 'stonegate' });
  await write('apiserver-token', 'the-second-token\n');
  await app.reload();
  await ask(alice, NAMESPACES);
  t.equal(sentFor('/namespaces'), 'Bearer the-second-token');
  t.not(before, 'Bearer the-second-token');
  apiServer.seed.configMap('after-the-token', {}, { tenant: 'acme' });
  await watch.until('after-the-token');
  t.pass('the watch continues over its old connection');
  watch.leave();
  await eventually(async () => /requests_active\{kind="watch"\} 0/.test(await app.metrics.text()));
});

t.test(
  'after the token for the API server is renewed, Stonegate still knows what it may impersonate',
  async (t) => {
    const issuer = await startSigningIssuer();
    t.teardown(() => issuer.down());
    const claimMappings = { username: { claim: 'sub', prefix: 'ids:' } };
    const jwt = [
      { issuer: { url: issuer.url, audiences: ['kubernetes'] }, claimMappings, tenant: { value: 'acme' } },
    ];
    const { app, ask, apiServer, write, sentFor, said } = await setUp(t, { authentication: { jwt } });
    const exp = Math.floor(Date.now() / 1_000) + 600;
    const carol = await issuer.sign({ sub: 'carol', aud: 'kubernetes', exp, jti: 'token-1' });
    const sent = async () => {
      await ask(carol, NAMESPACES);
      const headers = apiServer.requests.findLast(({ url }) => url.endsWith('/namespaces'))?.headers ?? {};
      return Object.keys(headers).filter((name) => name.includes('credential-id')).length;
    };
    await eventually(() => said('asked the API server what Stonegate may impersonate') > 0);
    t.equal(await sent(), 1);

    apiServer.seed.token('the-second-token', { username: 'stonegate' });
    await write('apiserver-token', 'the-second-token');
    apiServer.breakNext('500', ({ url = '' }) => url.endsWith('/selfsubjectaccessreviews'));
    await app.reload();
    await eventually(() => said('Stonegate could not ask for its own rights') > 0);
    t.equal(await sent(), 1);
    t.equal(sentFor('/namespaces'), 'Bearer the-second-token');
  },
);

t.test('C066 a new client certificate for the API server: the next connection uses it', async (t) => {
  const { app, ask, authority, apiServer, keystoneToken, configure, write } = await setUp(t);
  const strict = await createApiServer({
    flavour: 'arktos',
    tls: { ...(await authority.server('kube-apiserver')), clientCA: authority.cert },
  });
  t.teardown(() => strict.close());
  t.not(strict.port, apiServer.port);
  const present = async ({ cert, key }: KeyPair) => {
    await write('client.crt', cert);
    await write('client.key', key);
  };
  const alice = keystoneToken('alice');
  await present(await authority.client('attacker', ['tenant:system']));
  const credential = { certFile: 'client.crt', keyFile: 'client.key' };
  await configure({ upstream: { server: strict.url, credential } });
  const impersonation = { verbs: ['impersonate'], resources: ['*'] };
  strict.seed.clusterRole('impersonator', [
    { ...impersonation, apiGroups: [''] },
    { ...impersonation, apiGroups: ['authentication.k8s.io'] },
  ]);
  strict.seed.clusterRoleBinding('impersonators', 'impersonator', ['user:successor']);
  await app.reload();
  t.match(
    (await ask(alice, NAMESPACES)).json(),
    { code: 503 },
    'the API server identifies Stonegate by the certificate',
  );

  await present(await authority.client('successor', ['tenant:system']));
  await app.reload();
  t.match((await ask(alice, NAMESPACES)).json(), { code: 403, message: /User "acme:alice" cannot/ });
});
