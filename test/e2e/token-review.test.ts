/** Service accounts and other users that the API server itself knows are forwarded with their own token. */
import { request } from 'node:https';
import t, { type Test } from 'tap';
import { createApiServer, type LoggedRequest } from '../support/apiserver/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { startForKubectl } from '../support/kubectl-users.ts';
import { isForClient } from '../support/own-questions.ts';
import { rule } from '../support/policy-rule.ts';
import { type RunningStonegate, startStonegate } from '../support/stonegate.ts';
import { type Mode, OWN_TOKEN } from '../support/testbed.ts';

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
const CERTIFICATE = { credential: { certFile: 'apiserver.crt', keyFile: 'apiserver.key' } };
const ROBOT = 'system:serviceaccount:default:robot';
const EVERYTHING = [rule('*', '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }];

const WEBSOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

type Options = Parameters<typeof startForKubectl>[1];

function configurationOf(mode: Mode, own: 'token' | 'certificate', changes: object = {}) {
  return {
    authentication: { tokenReview: { ...(mode === 'shared' && { tenant: 'robots' }), ...changes } },
    ...(own === 'certificate' && { upstream: CERTIFICATE }),
  };
}

/**
 * A service account of acme that may do everything there, in Arktos; in a cluster without tenants, in one
 * namespace.
 */
function seedRobot({ apiServer: { seed } }: RunningStonegate, mode: Mode) {
  if (mode === 'arktos') {
    seed.clusterRoleBinding('robots', 'worker', [`user:${ROBOT}`], { tenant: 'acme' });
    return seed.serviceAccountToken({ name: 'robot', tenant: 'acme' });
  }
  seed.roleBinding('robots', 'worker', [`user:${ROBOT}`], { namespace: 'acme' });
  return seed.serviceAccountToken({ name: 'robot' });
}

async function start(t: Test, mode: Mode, changes: object = {}, options: Options = {}) {
  const configuration = { ...configurationOf(mode, 'token', changes), ...options.configuration };
  const stonegate = await startStonegate(t, { ...options, mode, configuration });
  const { apiServer } = stonegate;
  /** What reached the API server while `action` ran, without Stonegate's own request for its version. */
  const arrived = async (action: () => Promise<unknown>) => {
    const before = apiServer.requests.length;
    await action();
    return apiServer.requests.slice(before).filter(isForClient);
  };
  return { ...stonegate, robot: seedRobot(stonegate, mode), arrived };
}

/** The request carries that token and nothing else that names a user. */
function ownToken(t: Test, request: LoggedRequest | undefined, token: string, username = ROBOT) {
  const values = request?.rawHeaders.filter((_, i, raw) => raw[i - 1]?.toLowerCase() === 'authorization');
  t.same(values, [`Bearer ${token}`]);
  const others = Object.keys(request?.headers ?? {}).filter((name) => /^(?:impersonate|x-remote)/.test(name));
  t.same(others, []);
  t.equal(request?.user?.username, username);
}

for (const [mode, own] of [
  ['arktos', 'token'],
  ['shared', 'certificate'],
] as const) {
  const namespace = mode === 'arktos' ? 'default' : 'acme';
  const root = mode === 'arktos' ? '/api/v1/tenants/acme' : '/api/v1';
  t.test(`in ${mode} mode, if Stonegate’s own credential is a ${own}`, async (t) => {
    const configuration = configurationOf(mode, own);
    const everybody = await startForKubectl(t, { mode, configuration });
    const { stonegate, next } = everybody;
    const robot = seedRobot(stonegate, mode);

    await t.test(
      'C030 C096 a service account goes through with its own token, not impersonated',
      async (t) => {
        const arrival = next(({ url }) => url.endsWith('/pods/web'));
        const reply = await stonegate.ask(robot, `/api/v1/namespaces/${namespace}/pods/web`);
        t.match(reply, { status: 200 }, reply.body);
        const request = await arrival;
        t.equal(request.url, `${root}/namespaces/${namespace}/pods/web`);
        ownToken(t, request, robot);
      },
    );

    await t.test('C248 so does one that sends its token as a WebSocket subprotocol', async (t) => {
      const arrival = next(({ url }) => url.includes('/pods/web/exec'));
      const carrier = `base64url.bearer.authorization.k8s.io.${Buffer.from(robot).toString('base64url')}`;
      const path = `/api/v1/namespaces/${namespace}/pods/web/exec?command=true&stdout=1`;
      const chosen = await openWebSocket(t, stonegate, path, `${carrier}, v4.channel.k8s.io`);
      t.equal(chosen, 'v4.channel.k8s.io');
      const opened = await arrival;
      ownToken(t, opened, robot);
      t.equal(opened.headers['sec-websocket-protocol'], 'v4.channel.k8s.io');
    });
  });
}

t.test('one TokenReview counts for many requests, until the API server refuses the token', async (t) => {
  const { ask, robot, arrived, apiServer } = await start(t, 'arktos');
  const reviews = (seen: LoggedRequest[]) => seen.filter(({ url }) => url === REVIEWS).length;
  const seen = await arrived(async () => {
    for (let i = 0; i < 5; i += 1) t.equal((await ask(robot, '/api/v1/pods')).status, 200);
  });
  t.equal(reviews(seen), 1, 'C119 one review');

  const known = apiServer.cluster.tokens.get(robot);
  apiServer.cluster.tokens.delete(robot);
  const refused = await arrived(async () => {
    const reply = await ask(robot, '/api/v1/pods');
    t.match(reply.json(), { kind: 'Status', code: 401 }, 'the API server’s own refusal, not a 503');
  });
  t.equal(reviews(refused), 0);
  if (known !== undefined) apiServer.cluster.tokens.set(robot, known);
  const again = await arrived(async () => t.equal((await ask(robot, '/api/v1/pods')).status, 200));
  t.equal(reviews(again), 1, 'the cached result has expired');
});

t.test('a token that the API server does not authenticate', async (t) => {
  const { ask, arrived, apiServer, robot } = await start(t, 'arktos');
  await t.test('is refused, and the refusal is cached for a while', async (t) => {
    const seen = await arrived(async () => {
      for (let i = 0; i < 3; i += 1) t.match(await ask('unknown-token', '/api/v1/pods'), { status: 401 });
    });
    t.same(
      seen.map(({ url }) => url),
      [REVIEWS],
    );
  });
  await t.test('what cannot be a token is refused without a TokenReview', async (t) => {
    const seen = await arrived(async () => {
      for (const token of ['x'.repeat(20_000), 'a,b', 'ä'.repeat(4), 'to"ken'])
        t.match(
          await ask(Buffer.from(token).toString('latin1'), '/api/v1/pods'),
          { status: 401 },
          token.slice(0, 9),
        );
    });
    t.same(seen, []);
  });
  await t.test('an API server that closes the connection causes a 503, not a 401', async (t) => {
    apiServer.breakNext('reset', ({ url }) => url === REVIEWS);
    t.match(await ask(robot, '/api/v1/pods'), { status: 503 });
    t.match(await ask(robot, '/api/v1/pods'), { status: 200 });
  });
});

t.test(
  'without the right to create reviews, the response says that the operator must grant it',
  async (t) => {
    const { ask, robot, apiServer } = await start(t, 'shared');
    apiServer.seed.clusterRole('stonegate-impersonator:stonegate', []);
    const reply = await ask(robot, '/api/v1/namespaces/acme/pods');
    t.match(reply.json(), { code: 503, message: /does not let Stonegate create tokenreviews/ });
  },
);

t.test('in Arktos a tenant’s administrator with a token of their own', async (t) => {
  const stonegate = await start(t, 'arktos');
  const { ask, robot, arrived, apiServer } = stonegate;
  apiServer.seed.clusterRole('owner', EVERYTHING, { tenant: 'acme' });
  apiServer.seed.clusterRoleBinding('owners', 'owner', [`user:${ROBOT}`], { tenant: 'acme' });
  await ask(robot, '/api/v1/pods');

  await t.test('reaches no cluster-scoped resource', async (t) => {
    const direct = await fetchDirectly(stonegate, robot, '/api/v1/nodes');
    t.equal(direct, 200, 'which the API server itself would allow');
    const seen = await arrived(async () => {
      for (const [method, path] of [
        ['GET', '/api/v1/nodes'],
        ['DELETE', '/api/v1/tenants/acme'],
        ['GET', '/api/v1/tenants'],
        ['GET', '/metrics'],
        ['GET', '/api/v1/tenants/globex/pods'],
        ['GET', '/api/v1/tenants/all/pods'],
      ] as const) {
        const reply = await ask(robot, path, { method });
        t.equal(reply.json().code, 403, `${method} ${path}`);
      }
    });
    t.same(seen, []);
  });
  await t.test('appears in the audit log under their own name', async (t) => {
    const events = await stonegate.audited();
    const [event] = events.filter(({ user }) => user.username === ROBOT);
    t.match(event?.annotations, {
      'stonegate.dev/authenticator': 'token-review',
      'stonegate.dev/tenant': 'acme',
    });
    t.notOk(events.some(({ user, impersonatedUser }) => user.username === ROBOT && impersonatedUser));
    t.notMatch(JSON.stringify(events), robot);
    t.notMatch(stonegate.logged.join('\n'), robot, 'C149 nor is the token logged');
  });
});

t.test('a service account is never taken for the one of the same name in the system tenant', async (t) => {
  const { ask, robot, apiServer } = await start(t, 'arktos');
  apiServer.seed.clusterRole('almighty', EVERYTHING);
  apiServer.seed.clusterRoleBinding('almighty', 'almighty', [`user:${ROBOT}`]);
  const explain = { method: 'POST', body: '{"spec":{"request":{"method":"GET","path":"/api"}}}' };
  const explanations = '/apis/stonegate.dev/v1alpha1/explanations';
  t.match((await ask(robot, explanations, explain)).json(), { code: 403 });
  const system = apiServer.seed.serviceAccountToken({ name: 'robot', tenant: 'system' });
  t.match(
    (await ask(system, '/api/v1/nodes')).status,
    200,
    'the system tenant’s service account has its own rights',
  );

  apiServer.seed.clusterRole('shells', [rule('get', 'pods/exec')], {
    tenant: 'globex',
  });
  apiServer.seed.clusterRoleBinding('shells', 'shells', [`user:${ROBOT}`], { tenant: 'globex' });
  const reader = apiServer.seed.serviceAccountToken({ name: 'robot', tenant: 'globex' });
  const reply = await ask(reader, '/api/v1/namespaces/default/pods/web/exec?command=sh', {
    headers: WEBSOCKET,
  });
  t.match(reply.json(), { code: 403, message: /cannot create resource "pods\/exec"/ });
});

t.test(
  'C039 users of the API server that are no service accounts go through with their token too',
  async (t) => {
    const { ask, apiServer, arrived } = await start(t, 'arktos');
    const { seed } = apiServer;
    seed.token('zoe-token', { username: 'acme:zoe', tenant: 'acme' });
    seed.token('admin-token', { username: 'admin', tenant: 'acme' });
    seed.token('system-token', { username: 'system:admin', groups: ['system:masters'] });
    seed.token('all-token', { username: 'all:zed', tenant: 'all' });
    seed.clusterRoleBinding('zoes', 'worker', ['user:acme:zoe'], { tenant: 'acme' });
    const seen = await arrived(async () => t.equal((await ask('zoe-token', '/api/v1/pods')).status, 200));
    t.equal(seen.at(-1)?.url, '/api/v1/tenants/acme/pods');
    ownToken(t, seen.at(-1), 'zoe-token', 'acme:zoe');
    for (const token of ['admin-token', 'system-token', 'all-token'])
      t.match(await ask(token, '/api/v1/pods'), { status: 401 }, `${token} is of no tenant`);
    const bound = seed.serviceAccountToken({ name: 'robot', bound: true });
    t.match(await ask(bound, '/api/v1/pods'), { status: 401 }, 'a bound token is of no tenant');
  },
);

/** @returns the subprotocol that was agreed on */
async function openWebSocket(t: Test, { app, authority }: RunningStonegate, path: string, offered: string) {
  const headers = { ...WEBSOCKET, 'sec-websocket-protocol': offered };
  const asked = request({
    host: '127.0.0.1',
    port: app.address.port,
    path,
    headers,
    ca: authority.cert,
  }).end();
  return new Promise((resolve, reject) => {
    asked.on('error', reject);
    asked.on('response', ({ statusCode }) => reject(new Error(`refused with ${statusCode}`)));
    asked.on('upgrade', (response, socket) => {
      t.teardown(() => socket.destroy());
      socket.on('error', () => socket.destroy());
      resolve(response.headers['sec-websocket-protocol']);
    });
  });
}

/** Sends a request to the API server directly. */
async function fetchDirectly({ apiServer, authority }: RunningStonegate, token: string, path: string) {
  return new Promise<number | undefined>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    request({ host: '127.0.0.1', port: apiServer.port, path, headers, ca: authority.cert }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

t.test('a TokenReview of one API server does not count for another', async (t) => {
  const { ask, robot, configure, authority } = await start(t, 'shared', { cacheTTL: '10m' });
  const pods = '/api/v1/namespaces/acme/pods';
  t.equal((await ask(robot, pods)).status, 200);
  const tls = await authority.server('kube-apiserver');
  const tokens = { [OWN_TOKEN]: { username: 'stonegate', groups: ['system:masters'] } };
  const other = await createApiServer({ flavour: 'kubernetes', tls, tokens });
  t.teardown(() => other.close());
  // The change is noticed without a reload by the operator, which would empty the cache.
  await configure({
    ...configurationOf('shared', 'token', { cacheTTL: '10m' }),
    upstream: { server: other.url },
  });
  await eventually(() => other.requests.length > 0);
  t.equal((await ask(robot, pods)).status, 401);
  t.ok(other.requests.some(({ url }) => url === REVIEWS));
});
