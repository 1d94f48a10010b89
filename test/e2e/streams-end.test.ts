/**
 * Long-running requests end when access ends: a watch ends cleanly, so that its client watches again; a
 * followed log and a connection to a pod break off, so that their user notices. The number of streams is
 * limited for each user and tenant.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect as connectH2 } from 'node:http2';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { posted } from '../support/https-client.ts';
import { EXEC, openExec } from '../support/open-exec.ts';
import { askOnce, openRequest, type RequestOptions } from '../support/open-request.ts';
import { isForClient } from '../support/own-questions.ts';
import { startStonegate } from '../support/stonegate.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const WATCH = `${CONFIGMAPS}?watch=true`;
const LOG = '/api/v1/namespaces/default/pods/web/log?follow=true';

const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

interface SetUp {
  readonly streams?: object;
  readonly keystone?: object;
  readonly authentication?: object;
}

async function setUp(t: Test, { streams, keystone: asked, authentication }: SetUp = {}) {
  const stonegate = await startStonegate(t, {
    ...(authentication && { configuration: { authentication } }),
  });
  const { app, keystone } = stonegate;
  const configuration = {
    authentication: {
      keystone: { url: keystone.url, caFile: 'ca.crt', timeout: '30s', cacheTTL: '50ms', ...asked },
      ...authentication,
    },
    limits: { streams: { recheck: '100ms', ...streams } },
  };
  await stonegate.configure(configuration);
  await app.reload();
  const { destination } = stonegate;
  return {
    ...stonegate,
    configuration,
    destination,
    open: async (token: string, path: string, options: RequestOptions = {}) => {
      const request = openRequest(destination, token, path, options);
      t.equal((await request.head).statusCode, 200, path);
      return request;
    },
    /** The kinds of streams that were ended so far, each with the reason. */
    ended: async () => {
      const text = await app.metrics.text();
      return [...text.matchAll(/streams_ended_total\{kind="(\w+)",reason="([\w-]+)"\} [1-9]/g)].map(
        ([, kind, reason]) => `${kind} ${reason}`,
      );
    },
    noRequestIsActive: () =>
      eventually(async () => !/requests_active\{kind="\w+"\} [1-9]/.test(await app.metrics.text())),
  };
}

t.test('if a user is deleted in Keystone, all their streams end', async (t) => {
  const { open, destination, keystone, keystoneToken, ended, audited, noRequestIsActive } = await setUp(t);
  const alice = keystoneToken('alice');
  const bob = await open(keystoneToken('bob'), WATCH);
  const watch = await open(alice, WATCH);
  const log = await open(alice, LOG);
  const shells = [
    await openExec(t, destination, alice, 'SPDY/3.1'),
    await openExec(t, destination, alice, 'websocket'),
  ];
  const closed = shells.map((socket) => once(socket, 'close'));
  const session = connectH2(`https://127.0.0.1:${destination.port}`, { ca: destination.ca });
  t.teardown(() => session.destroy());
  const h2 = (path: string) => session.request({ ':path': path, authorization: `Bearer ${alice}` });
  const [watch2, log2] = [h2(WATCH), h2(LOG)];
  await Promise.all([once(watch2, 'response'), once(log2, 'response')]);
  watch2.resume();
  log2.resume();
  const ended2 = once(watch2, 'end');
  const broken2 = once(log2, 'error');

  keystone.directory.user('acme', 'alice').deleted = true;

  t.match(await watch.answered, { status: 200, complete: true }, 'a watch ends cleanly');
  t.match(await log.answered, { status: 200, complete: false }, 'a followed log breaks off');
  await ended2;
  await broken2;
  await Promise.all(closed);
  t.equal((await askOnce(destination, alice, WATCH)).status, 401, 'the watch cannot be opened again');
  t.same(new Set(await ended()), new Set(['watch refused', 'log refused', 'exec refused']));
  const events = (await audited()).filter(
    ({ annotations }) => annotations?.['stonegate.dev/ended'] === 'refused',
  );
  t.equal(events.length, 6, 'the audit log says why');
  t.notOk((await bob.head).closed, 'no other user is affected');
  bob.leave();
  await noRequestIsActive();
});

t.test(
  'if a user’s roles change, the watch ends, since the API server decided with the old groups',
  async (t) => {
    const { open, keystone, keystoneToken, ended } = await setUp(t);
    const watch = await open(keystoneToken('alice'), WATCH);
    const user = keystone.directory.user('acme', 'alice');
    const project = keystone.directory.project('acme', 'web');
    keystone.directory.assign(user, 'reader', { project });
    t.match(await watch.answered, { complete: true });
    t.same(await ended(), ['watch changed']);
  },
);

t.test(
  'D521 limits.streams.perUser: one more stream is refused before anything is sent for it',
  async (t) => {
    const { open, destination, keystoneToken, apiServer, configure, configuration, app, noRequestIsActive } =
      await setUp(t, { streams: { perUser: 3 } });
    const alice = keystoneToken('alice');
    const watches = [await open(alice, WATCH), await open(alice, WATCH), await open(alice, LOG)];
    const before = apiServer.requests.filter(isForClient).length;
    const refused = await askOnce(destination, alice, WATCH);
    t.match(refused, { status: 429, code: 'StreamLimitExceeded', headers: { 'retry-after': '1' } });
    const asked = { headers: { 'impersonate-user': 'eve' } };
    t.equal(
      (await askOnce(destination, alice, WATCH, asked)).code,
      'StreamLimitExceeded',
      'impersonation does not avoid the limit',
    );
    t.equal((await askOnce(destination, alice, EXEC)).code, 'StreamLimitExceeded');
    t.equal(apiServer.requests.filter(isForClient).length, before);
    t.equal((await askOnce(destination, alice, CONFIGMAPS)).status, 200, 'ordinary requests are served');
    const other = await open(keystoneToken('bob'), WATCH);

    await configure({ ...configuration, limits: { streams: { recheck: '100ms', perUser: 4 } } });
    await app.reload();
    const fourth = await open(alice, WATCH);
    t.equal(
      (await askOnce(destination, alice, WATCH)).status,
      429,
      'open streams still count after a reload',
    );
    fourth.leave();
    await eventually(async () => {
      const next = openRequest(destination, alice, WATCH);
      const { statusCode } = await next.head;
      next.leave();
      return statusCode === 200;
    });
    for (const watch of [...watches, other]) watch.leave();
    await noRequestIsActive();
  },
);

t.test('limits.streams.perTenant limits the users of a tenant together, and no other tenant', async (t) => {
  const { open, destination, provider, keystoneToken } = await setUp(t, { streams: { perTenant: 2 } });
  const carol = await provider.idToken('carol');
  const watches = [await open(keystoneToken('alice'), WATCH), await open(carol, WATCH)];
  t.match(await askOnce(destination, carol, WATCH), { status: 429, code: 'StreamLimitExceeded' });
  watches.push(await open(keystoneToken('bob'), WATCH));
  for (const watch of watches) watch.leave();
});

t.test('if a line is removed from the token file, its user’s watch ends with the reload', async (t) => {
  const folder = t.testdir({ 'tokens.csv': 'daves-token,dave,41,,,acme\nevas-token,eva,42,,,acme\n' });
  const stonegate = await startStonegate(t, {
    folder,
    configuration: {
      authentication: { tokenFile: { file: 'tokens.csv' } },
      limits: { streams: { recheck: '100ms' } },
    },
  });
  const { app, apiServer } = stonegate;
  for (const name of ['dave', 'eva'])
    apiServer.seed.clusterRoleBinding(name, 'worker', [`user:acme:token:${name}`], { tenant: 'acme' });
  const { destination } = stonegate;
  const [dave, eva] = ['daves-token', 'evas-token'].map((token) => openRequest(destination, token, WATCH));
  t.equal((await dave?.head)?.statusCode, 200);
  t.equal((await eva?.head)?.statusCode, 200);
  await writeFile(join(folder, 'tokens.csv'), 'evas-token,eva,42,,,acme\n');
  await app.reload();
  t.match(await dave?.answered, { complete: true });
  t.notOk((await eva?.head)?.closed);
  eva?.leave();
});

t.test('if a service account is deleted, its watch ends at the next TokenReview', async (t) => {
  const { open, apiServer, ended } = await setUp(t, {
    authentication: { tokenReview: { cacheTTL: '50ms' } },
  });
  const { seed } = apiServer;
  const username = 'system:serviceaccount:default:robot';
  seed.clusterRoleBinding('robots', 'worker', [`user:${username}`], { tenant: 'acme' });
  const token = seed.serviceAccountToken({ name: 'robot', tenant: 'acme' });
  const watch = await open(token, '/api/v1/tenants/acme/namespaces/default/configmaps?watch=true');
  // The API server does not know the token any more.
  seed.token(token, { username, tenant: 'acme', expiresAt: 0 });
  t.match(await watch.answered, { complete: true });
  t.same(await ended(), ['watch refused']);
});

t.test("the rule in SECURITY.md ends a user's ID tokens, and what is open with them", async (t) => {
  const { app, ask, configure, destination, provider } = await startStonegate(t);
  const page = readFileSync('SECURITY.md', 'utf8');
  const [, rules = ''] = /`userValidationRules: (\[.*?\])`/.exec(page) ?? [];
  const carol = await provider.idToken('carol');
  const { username } = JSON.parse((await ask(carol, SELF, posted({ spec: {} }))).body).status.userInfo;
  const watch = openRequest(destination, carol, WATCH);
  t.equal((await watch.head).statusCode, 200);
  const name = /oidc:.*/.exec(username)?.[0] ?? '';
  const issuer = {
    issuer: { url: provider.issuer, audiences: [provider.clientID] },
    claimMappings: {
      username: { claim: 'email', prefix: 'oidc:' },
      groups: { claim: 'groups', prefix: 'oidc:' },
    },
    tenant: { claim: 'hd', map: { 'acme.example': 'acme' } },
    userValidationRules: parse(rules.replace('oidc:bob@example.com', name)),
  };
  await configure({ authentication: { jwt: [issuer] } });
  await app.reload();
  t.match(await watch.answered, { complete: true });
  t.equal((await ask(carol, CONFIGMAPS)).status, 401);
});
