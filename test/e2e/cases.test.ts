/**
 * Failures known from other proxies, against the whole program: with real sockets, the real pipeline and the
 * API server's log of the requests that arrived.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { isForClient } from '../support/own-questions.ts';
import { startStonegate } from '../support/stonegate.ts';
import { runStonegate } from '../support/stonegate-process.ts';
import { startTestbed } from '../support/testbed.ts';

const stonegate = await startStonegate(t);
const { ask, apiServer } = stonegate;
const alice = stonegate.keystoneToken('alice');
const bob = stonegate.keystoneToken('bob');

/** The requests that reached the API server while `action` ran, except Stonegate's own. */
async function arrived(action: () => Promise<unknown>) {
  const before = apiServer.requests.length;
  await action();
  return apiServer.requests.slice(before).filter(isForClient);
}

t.test('C015 C017 C085 impersonation without a user or with unknown headers is refused', async (t) => {
  const impersonations = [
    [400, { 'Impersonate-Group': 'system:masters' }],
    [400, { 'impersonate-uid': '1' }],
    [400, { 'IMPERSONATE-UID': '1' }],
    [403, { Impersonate_User: 'bob' }],
    [403, { 'Impersonate-Users': 'bob' }],
    [403, { 'Impersonate-User': 'bob', 'Impersonate-Tenant': 'globex' }],
  ] as const;
  for (const [status, headers] of impersonations) {
    const seen = await arrived(async () =>
      t.equal((await ask(alice, '/api/v1/pods', { headers })).status, status),
    );
    t.same(seen, [], JSON.stringify(headers));
  }
});

t.test('C108 C144 C146 C156 C179 no path, query or header gives access without a credential', async (t) => {
  const seen = await arrived(async () => {
    for (const path of ['/healthz', '/api', '/version', '/api/v1/pods', '/api/private/x?path=/status', '/']) {
      const reply = await ask(undefined, path, {
        headers: { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' },
      });
      t.equal(reply.status, 401, path);
    }
  });
  t.same(seen, []);
});

t.test('C154 forged identity headers beside a good credential do not reach the API server', async (t) => {
  const [request] = await arrived(() =>
    ask(alice, '/api/v1/pods', {
      headers: {
        'X-Remote-User': 'admin',
        X_Remote_Group: 'system:masters',
        'X-Forwarded-For': '1.2.3.4',
        'X-Roles': 'admin',
      },
    }),
  );
  const names = Object.keys(request?.headers ?? {}).filter((name) => /^x[-_](remote|roles)/.test(name));
  t.same(names, []);
  t.equal(request?.headers['x-forwarded-for'], '127.0.0.1');
  t.equal(request?.user?.username, 'acme:alice');
});

t.test('C120 a user in 250 groups is served, and no review is requested', async (t) => {
  const groups = Array.from(
    { length: 250 },
    (_, i) => `group-${i}-0000-4000-8000-${String(i).padStart(12, '0')}`,
  );
  const { directory } = stonegate.keystone;
  const many = directory.user('acme', 'many');
  for (const role of groups) directory.assign(many, role, { project: directory.project('acme', 'web') });
  const token = stonegate.keystone.issue(many, { project: directory.project('acme', 'web') });
  const seen = await arrived(async () => {
    t.equal(
      (await ask(token, '/api/v1/pods')).status,
      403,
      'the API server itself refuses: no role is bound',
    );
  });
  t.equal(seen.length, 1);
  t.equal(seen[0]?.user?.groups.filter((group) => group.includes(':role:')).length, 250);
});

t.test('C129 a 403 of the API server is forwarded unchanged, for any request', async (t) => {
  const { directory } = stonegate.keystone;
  const nina = stonegate.keystone.issue(directory.user('acme', 'nina'));
  const asked = [
    ['DELETE', '/api/v1/namespaces/default/configmaps/settings'],
    ['DELETE', '/api/v1/namespaces/default/configmaps'],
    ['GET', '/api/v1/namespaces/default/pods/web/log'],
    ['GET', '/api/v1/pods?watch=1'],
  ] as const;
  for (const [method, path] of asked) {
    const { status, body, json } = await ask(nina, path, { method });
    t.equal(status, 403, path);
    t.match(json(), { kind: 'Status', reason: 'Forbidden', message: /User "acme:nina" cannot/ });
    t.notMatch(body, 'StonegateCode', 'it is the API server’s own refusal');
  }
});

t.test(
  'C136 two users of different tenants see their own namespaces only, in lists and in watches',
  async (t) => {
    apiServer.seed.namespace('only-acme', { tenant: 'acme' });
    apiServer.seed.namespace('only-globex', { tenant: 'globex' });
    for (const [token, own, other] of [
      [alice, 'only-acme', 'only-globex'],
      [bob, 'only-globex', 'only-acme'],
    ] as const) {
      const list = await ask(token, '/api/v1/namespaces?labelSelector=');
      t.match(list.body, own);
      t.notMatch(list.body, other);
      const watched = await firstEvents(token, '/api/v1/namespaces?watch=1', own);
      t.notMatch(watched, other);
    }
  },
);

/** Reads a watch until `text` has arrived, then disconnects. */
async function firstEvents(token: string, path: string, text: string) {
  const request = httpsRequest(`${stonegate.url}${path}`, {
    ca: stonegate.authority.cert,
    headers: { authorization: `Bearer ${token}` },
  });
  request.end();
  const [response] = await once(request, 'response');
  let seen = '';
  response.on('data', (chunk: Buffer) => {
    seen += chunk;
  });
  response.on('error', () => request.destroy());
  await eventually(() => seen.includes(text));
  request.destroy();
  return seen;
}

t.test(
  'C086 without its own credential Stonegate does not start: no request reaches the API server',
  async (t) => {
    const folder = join(t.testdir({}), 'bare');
    const bare = await startTestbed(t, { folder });
    await writeFile(join(folder, 'apiserver-token'), '\n');
    const { code, stderr } = await runStonegate('serve', '--config', bare.configFile);
    t.equal(code, 1);
    t.match(stderr, 'upstream.credential.tokenFile');
    t.same(bare.apiServer.requests, []);
  },
);

t.test('every refusal is in the audit log with its user and tenant, and no token is logged', async (t) => {
  await ask(alice, '/api/v1/tenants/globex/pods');
  await eventually(async () =>
    (await stonegate.audited()).some(
      ({ stage, responseStatus, user, annotations }) =>
        stage === 'ResponseComplete' &&
        responseStatus?.reason === 'TenantForbidden' &&
        user.username === 'acme:alice' &&
        annotations?.['stonegate.dev/tenant'] === 'acme',
    ),
  );
  const everything = JSON.stringify(await stonegate.audited()) + stonegate.logged.join('');
  t.notMatch(everything, alice);
  t.notMatch(everything, bob);
  t.notMatch(everything, 'stonegate-own-token');
});
