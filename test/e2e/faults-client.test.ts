/**
 * Clients that disconnect in each stage of a request, against the whole program: their requests to the API
 * server end at once, none is sent after they have disconnected, and nothing stays open.
 */
import { once } from 'node:events';
import { connect as connectH2 } from 'node:http2';
import { connect as connectTLS } from 'node:tls';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { type OpenRequest, openRequest } from '../support/open-request.ts';
import { isForClient } from '../support/own-questions.ts';
import { RawConnection } from '../support/raw-http/raw-connection.ts';
import { startStonegate } from '../support/stonegate.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const WATCH = `${CONFIGMAPS}?watch=true`;
const EXEC = '/api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true';

async function setUp(t: Test) {
  const stonegate = await startStonegate(t);
  const { app, apiServer, keystone, ask, keystoneToken } = stonegate;
  const token = keystoneToken('alice');
  await ask(token, CONFIGMAPS);
  // Stonegate's own first request to Keystone must be over, or it would hang instead of the test's.
  await eventually(() => keystone.calls.includes('GET /v3'));
  const { destination } = stonegate;
  return {
    ...stonegate,
    destination,
    token,
    /** The number of users' requests that reached the API server. */
    forwarded: () => apiServer.requests.filter(isForClient).length,
    async rawTLS() {
      const socket = connectTLS({ ...destination, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
      await once(socket, 'secureConnect');
      t.teardown(() => socket.destroy());
      return new RawConnection(socket);
    },
    noRequestIsActive: () =>
      eventually(async () => !/requests_active\{kind="\w+"\} [1-9]/.test(await app.metrics.text())),
  };
}

const WAYS: readonly (readonly [string, (request: OpenRequest) => void])[] = [
  ['breaks the connection', (request) => request.leave()],
  ['closes its half of the connection', (request) => request.halfClose()],
];

t.test(
  'a client that disconnects during validation at Keystone causes no request to the API server',
  async (t) => {
    const { destination, keystone, keystoneToken, forwarded, noRequestIsActive, ask, audited } =
      await setUp(t);
    keystone.fault = 'hang';
    const hanging = keystone.hanging;
    const otherTenant = keystoneToken('bob');
    const asked = openRequest(destination, otherTenant, CONFIGMAPS);
    await eventually(() => keystone.hanging === hanging + 1);
    const before = forwarded();
    asked.leave();
    await t.rejects(asked.answered);
    keystone.release();
    await noRequestIsActive();
    await eventually(async () => (await audited()).some(({ user }) => user?.username === 'globex:bob'));
    t.equal(forwarded(), before);
    const calls = keystone.calls.length;
    t.equal((await ask(otherTenant, CONFIGMAPS)).status, 200);
    t.equal(keystone.calls.length, calls, 'the result of the validation is cached');
  },
);

for (const [way, go] of WAYS)
  t.test(`if a client ${way} before the response, its request to the API server is aborted`, async (t) => {
    const { destination, token, apiServer, noRequestIsActive } = await setUp(t);
    apiServer.breakNext('hang', ({ url }) => url?.includes('slow') ?? false);
    const asked = openRequest(destination, token, `${CONFIGMAPS}/slow`);
    const arrived = await apiServer.arrival(({ url }) => url.includes('slow'));
    go(asked);
    t.equal(await arrived.ended, 'aborted');
    await noRequestIsActive();
  });

t.test(
  'a watch over HTTP/2 ends at the API server when the client closes its stream or its connection',
  async (t) => {
    const { destination, token, apiServer, noRequestIsActive } = await setUp(t);
    for (const leave of ['stream', 'connection']) {
      const session = connectH2(`https://localhost:${destination.port}`, { ca: destination.ca });
      session.on('error', () => session.destroy());
      const stream = session.request({ ':path': `${WATCH}&by=${leave}`, authorization: `Bearer ${token}` });
      stream.on('error', () => stream.destroy());
      await once(stream, 'data');
      const arrived = await apiServer.arrival(({ url }) => url.includes(leave));
      if (leave === 'stream') stream.close(8);
      else session.destroy();
      t.equal(await arrived.ended, 'aborted', leave);
      session.destroy();
    }
    await noRequestIsActive();
  },
);

t.test('a download ends at the API server when a client that does not read it disconnects', async (t) => {
  const { token, apiServer, rawTLS, noRequestIsActive } = await setUp(t);
  apiServer.seed.configMap('large', { data: 'x'.repeat(32 * 1024 * 1024) }, { tenant: 'acme' });
  const client = await rawTLS();
  client.socket.pause();
  client.send(`GET ${CONFIGMAPS}/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const arrived = await apiServer.arrival(({ url }) => url.includes('large'));
  let over = false;
  void arrived.ended.then(() => {
    over = true;
  });
  await once(client.socket, 'readable');
  t.equal(over, false, 'it cannot have been sent completely');
  client.socket.destroy();
  t.equal(await arrived.ended, 'aborted');
  await noRequestIsActive();
});

t.test('exec ends at the API server when the client disconnects, before or after the upgrade', async (t) => {
  const { token, apiServer, rawTLS, noRequestIsActive } = await setUp(t);
  apiServer.breakNext('hang', ({ url }) => url?.includes('exec') ?? false);
  for (const stage of ['waiting', 'open']) {
    const client = await rawTLS();
    client.send(upgradeRequest(token, stage));
    const arrived = await apiServer.arrival(({ url }) => url.includes(stage));
    if (stage === 'open') await client.until('101 Switching Protocols');
    client.socket.destroy();
    await t.resolves(arrived.ended, stage);
  }
  await noRequestIsActive();
});

t.test(
  'a client that disconnects during the access review of exec by WebSocket opens no tunnel',
  async (t) => {
    const { token, apiServer, rawTLS, noRequestIsActive } = await setUp(t);
    apiServer.breakNext('hang', ({ url }) => url?.includes('subjectaccessreviews') ?? false);
    const client = await rawTLS();
    client.send(
      [
        `GET ${EXEC} HTTP/1.1`,
        'Host: x',
        `Authorization: Bearer ${token}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Protocol: v4.channel.k8s.io',
        '\r\n',
      ].join('\r\n'),
    );
    const review = await apiServer.arrival(({ url }) => url.endsWith('/subjectaccessreviews'));
    client.socket.destroy();
    t.equal(await review.ended, 'aborted');
    await noRequestIsActive();
    t.notOk(apiServer.requests.some(({ url }) => url.includes('/exec')));
  },
);

function upgradeRequest(token: string, mark: string) {
  return [
    `POST ${EXEC}&mark=${mark} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
    'Content-Length: 0',
    '\r\n',
  ].join('\r\n');
}
