/**
 * Faults of the API server. Before the response they become a Status; during the response they break the
 * client's connection, since an incomplete response must not look complete.
 */
import { once } from 'node:events';
import { connect as connectH2 } from 'node:http2';
import { connect as connectTLS } from 'node:tls';
import t, { type Test } from 'tap';
import type { FaultKind } from '../support/apiserver/faults.ts';
import { eventually } from '../support/eventually.ts';
import { posted } from '../support/https-client.ts';
import { askOnce, openRequest, stonegateCode } from '../support/open-request.ts';
import { isForClient } from '../support/own-questions.ts';
import { RawConnection } from '../support/raw-http/raw-connection.ts';
import { startStonegate } from '../support/stonegate.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const WATCH = `${CONFIGMAPS}?watch=true`;
const EXEC = '/api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true';

async function setUp(t: Test) {
  const configuration = { upstream: { timeouts: { connect: '60s', response: '3s' } } };
  const stonegate = await startStonegate(t, { configuration });
  const { app, apiServer, ask, keystoneToken } = stonegate;
  const token = keystoneToken('alice');
  await ask(token, CONFIGMAPS);
  const { destination } = stonegate;
  return {
    ...stonegate,
    destination,
    token,
    /** Breaks the next requests of clients, not Stonegate’s own probes of the API server. */
    breakNext: (kind: FaultKind, times = 1) => {
      for (let n = 0; n < times; n += 1) apiServer.breakNext(kind, isForClient);
    },
    arrived: (part: string) => apiServer.requests.filter(({ url }) => url.includes(part)).length,
    noRequestIsActive: () =>
      eventually(async () => {
        const text = await app.metrics.text();
        return !/stonegate_requests_active\{kind="\w+"\} [1-9]/.test(text);
      }),
    async rawTLS() {
      const socket = connectTLS({ ...destination, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
      await once(socket, 'secureConnect');
      t.teardown(() => socket.destroy());
      return new RawConnection(socket);
    },
  };
}

t.test('a fault before the response becomes a Status, and the next request succeeds', async (t) => {
  const { ask, token, breakNext, noRequestIsActive } = await setUp(t);
  const faults = [
    ['reset', 2, 503, 'UpstreamUnavailable'],
    ['garbage', 1, 503, 'UpstreamUnavailable'],
    ['huge-headers', 1, 503, 'UpstreamUnavailable'],
    ['hang', 1, 504, 'UpstreamTimeout'],
    ['401', 1, 503, 'UpstreamRefusedCredential'],
  ] as const;
  for (const [fault, times, status, code] of faults) {
    breakNext(fault, times);
    const reply = await ask(token, CONFIGMAPS);
    t.match(reply.json(), { kind: 'Status', code: status }, fault);
    t.equal(stonegateCode(reply.body), code, fault);
    t.equal(reply.headers['retry-after'], undefined);
    t.equal(
      reply.headers['www-authenticate'],
      undefined,
      'the 401 is about Stonegate’s credential, not the client’s',
    );
    t.equal((await ask(token, CONFIGMAPS)).status, 200, `the request after ${fault}`);
  }
  await noRequestIsActive();
});

t.test(
  "a refusal of Stonegate's own credential is an error in the log and counted for its alert",
  async (t) => {
    const { app, apiServer, ask, token, logged } = await setUp(t);
    apiServer.cluster.tokens.clear();
    for (const path of [CONFIGMAPS, '/apis', '/version'])
      t.equal(stonegateCode((await ask(token, path)).body), 'UpstreamRefusedCredential', path);
    const loud = logged.filter((line) => line.includes('UpstreamRefusedCredential'));
    t.ok(loud.length > 0);
    t.ok(loud.every((line) => JSON.parse(line).level === 'error'));
    t.match(await app.metrics.text(), 'stonegate_refusals_total{code="UpstreamRefusedCredential"} 3');
  },
);

t.test('C203 a redirect is forwarded to the client and not followed', async (t) => {
  const { ask, token, breakNext, rawTLS } = await setUp(t);
  breakNext('redirect');
  const reply = await ask(token, CONFIGMAPS);
  t.match(reply, { status: 307, headers: { location: 'https://elsewhere.invalid/api/v1/pods' } });
  breakNext('redirect');
  const client = await rawTLS();
  client.send(upgradeRequest(token));
  t.match(await client.untilEnd(), /^HTTP\/1\.1 307 .*elsewhere\.invalid/s);
});

t.test('after a lost connection a GET is retried once, a POST never', async (t) => {
  const { ask, token, breakNext, arrived } = await setUp(t);
  breakNext('reset');
  t.equal((await ask(token, `${CONFIGMAPS}/settings`)).status, 200);
  t.equal(arrived('/settings'), 2);
  breakNext('reset');
  const once = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'once' } };
  const reply = await ask(token, `${CONFIGMAPS}?once`, posted(once));
  t.equal(stonegateCode(reply.body), 'UpstreamUnavailable');
  t.equal(arrived('?once'), 1);
});

for (const fault of ['half-body', 'half-chunked'] as const)
  t.test(
    `C135 a response that the API server breaks off (${fault}) is aborted over HTTP/1.1 and HTTP/2`,
    async (t) => {
      const { destination, token, breakNext, noRequestIsActive } = await setUp(t);
      breakNext(fault);
      const answered = await askOnce(destination, token, CONFIGMAPS);
      t.match(answered, { status: 200, complete: false });

      const session = connectH2(`https://localhost:${destination.port}`, { ca: destination.ca });
      t.teardown(() => session.destroy());
      breakNext(fault);
      const stream = session.request({ ':path': CONFIGMAPS, authorization: `Bearer ${token}` });
      stream.resume();
      await t.rejects(once(stream, 'end'), { code: 'ERR_HTTP2_STREAM_ERROR' });
      const next = session.request({ ':path': CONFIGMAPS, authorization: `Bearer ${token}` });
      t.match(await once(next, 'response'), [{ ':status': 200 }], 'other streams of the connection continue');
      next.close();
      await noRequestIsActive();
    },
  );

t.test(
  'a watch breaks off when the API server restarts, and ends cleanly when the API server ends it',
  async (t) => {
    const { apiServer, destination, token, noRequestIsActive } = await setUp(t);
    const watch = openRequest(destination, token, WATCH);
    await watch.until('"settings"');
    await apiServer.restart();
    t.equal((await watch.answered).complete, false);
    const again = openRequest(destination, token, WATCH);
    await again.until('"settings"');
    apiServer.endWatches();
    t.equal((await again.answered).complete, true);
    await noRequestIsActive();
  },
);

t.test('a failed upgrade gets a Status before the connection closes', async (t) => {
  const { token, breakNext, rawTLS, noRequestIsActive, apiServer } = await setUp(t);
  for (const [fault, answer] of [
    ['hang', /^HTTP\/1\.1 504 .*UpstreamTimeout/s],
    ['reset', /^HTTP\/1\.1 503 .*UpstreamUnavailable/s],
    ['garbage', /^HTTP\/1\.1 503 .*UpstreamUnavailable/s],
    ['401', /^HTTP\/1\.1 503 .*UpstreamRefusedCredential/s],
    ['403', /^HTTP\/1\.1 403 .*"reason":"Forbidden"/s],
  ] as const) {
    breakNext(fault);
    const client = await rawTLS();
    client.send(upgradeRequest(token));
    t.match(await client.untilEnd(), answer, fault);
  }
  await noRequestIsActive();
  await eventually(() => apiServer.connections <= 3);
});

function upgradeRequest(token: string) {
  return [
    `POST ${EXEC} HTTP/1.1`,
    'Host: stonegate',
    `Authorization: Bearer ${token}`,
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
    'Content-Length: 0',
    '\r\n',
  ].join('\r\n');
}
