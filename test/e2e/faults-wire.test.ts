/**
 * Malformed and hostile requests, byte by byte over TLS: the API server receives the request as it was
 * authorized, or nothing.
 */
import { once } from 'node:events';
import { connect as connectH2 } from 'node:http2';
import { connect as connectTLS } from 'node:tls';
import t from 'tap';
import type { LoggedRequest } from '../support/apiserver/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { stonegateCode } from '../support/open-request.ts';
import { isForClient } from '../support/own-questions.ts';
import { RawConnection } from '../support/raw-http/raw-connection.ts';
import { startStonegate } from '../support/stonegate.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';

const stonegate = await startStonegate(t);
const { app, apiServer, authority, ask } = stonegate;
const token = stonegate.keystoneToken('alice');
const AUTHORIZATION = `Authorization: Bearer ${token}`;
await ask(token, CONFIGMAPS);

/** The requests of clients that reach the API server from now on. */
function watchArrivals() {
  const before = apiServer.requests.length;
  return () => apiServer.requests.slice(before).filter(isForClient);
}

async function connectRaw() {
  const ca = authority.cert;
  const socket = connectTLS({ port: app.address.port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  return new RawConnection(socket);
}

/** Sends these lines as they are, then a blank line and the body. */
async function send(lines: readonly string[], body = ''): Promise<RawConnection> {
  const connection = await connectRaw();
  connection.send(`${lines.join('\r\n')}\r\n\r\n${body}`);
  return connection;
}

const get = (...fields: string[]) => [
  `GET ${CONFIGMAPS} HTTP/1.1`,
  'Host: stonegate',
  AUTHORIZATION,
  ...fields,
];

/** Whether the request has alice's identity and no other. */
function isAlice({ user, rawHeaders, headers }: LoggedRequest) {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return (
    user?.username === 'acme:alice' &&
    names.filter((name) => name === 'impersonate-user').length === 1 &&
    names.filter((name) => name === 'authorization').length === 1 &&
    headers['impersonate-group']?.includes('system:authenticated') === true
  );
}

t.test('C109 a `Connection` field removes no header that Stonegate sets', async (t) => {
  const spellings = [
    ['Connection: Impersonate-Group, Impersonate-User, close'],
    ['Connection: impersonate-user', 'Connection: IMPERSONATE-GROUP', 'connection: Impersonate-Uid'],
    ['Connection: Impersonate-Extra-alpha.kubernetes.io%2fidentity%2froles'],
    ['Connection: Upgrade, Impersonate-User', 'Proxy-Connection: Impersonate-Group'],
  ];
  for (const fields of spellings) {
    const arrived = watchArrivals();
    const client = await send(get(...fields));
    await client.until('"kind":"ConfigMapList"');
    t.match(client.received, /^HTTP\/1\.1 200 /, fields.join('; '));
    t.ok(arrived().length === 1 && arrived().every(isAlice), fields.join('; '));
    client.socket.destroy();
  }
});

t.test(
  'C148 identity headers of other proxies are not forwarded, even if `Connection` names them',
  async (t) => {
    const names = ['X-Remote-User', 'X-Remote-Group', 'X-Remote-Extra-Scopes', 'X_Remote_User'];
    for (const name of names) {
      const arrived = watchArrivals();
      const client = await send(get(`Connection: ${name.toLowerCase()}`, `${name}: system:admin`));
      await client.until('"kind":"ConfigMapList"');
      const [request] = arrived();
      t.ok(request !== undefined && isAlice(request), name);
      t.notOk(request?.rawHeaders.includes('system:admin'), name);
      client.socket.destroy();
    }
  },
);

t.test('C197 a request with trailers is served without them', async (t) => {
  const arrived = watchArrivals();
  const announced = await send(get('Trailer: X-Checksum'));
  await announced.until('"kind":"ConfigMapList"');
  const object = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'trailed' } });
  const chunked = await send(
    [
      `POST ${CONFIGMAPS} HTTP/1.1`,
      'Host: stonegate',
      AUTHORIZATION,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
      'Trailer: Impersonate-User',
    ],
    `${object.length.toString(16)}\r\n${object}\r\n0\r\nImpersonate-User: system:admin\r\n\r\n`,
  );
  t.match(await chunked.until('"trailed"'), /^HTTP\/1\.1 201 /);
  t.ok(arrived().every(isAlice));
  t.equal(arrived().length, 2);
  for (const { socket } of [announced, chunked]) socket.destroy();
});

t.test('C198 a body is received with and without `Expect: 100-continue`', async (t) => {
  const pad = 'x'.repeat(100_000);
  for (const [index, expect] of [[], ['Expect: 100-continue'], ['expect: 100-Continue']].entries()) {
    const name = `expected-${index}`;
    const metadata = { name };
    const object = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { pad } });
    const client = await send([
      `POST ${CONFIGMAPS} HTTP/1.1`,
      'Host: stonegate',
      AUTHORIZATION,
      'Content-Type: application/json',
      `Content-Length: ${object.length}`,
      ...expect,
    ]);
    if (expect.length > 0) await client.until('HTTP/1.1 100 Continue');
    client.send(object);
    t.match(await client.until(`"name":"${name}"`), /HTTP\/1\.1 201 /);
    client.socket.destroy();
  }
});

t.test('C198 a request with `Expect: 100-continue` is refused before its body is sent', async (t) => {
  const arrived = watchArrivals();
  const client = await send([
    `POST ${CONFIGMAPS} HTTP/1.1`,
    'Host: stonegate',
    'Authorization: Bearer gAAAAAnobody',
    'Content-Length: 100000',
    'Expect: 100-continue',
  ]);
  const answer = await client.untilEnd();
  t.match(answer, /^HTTP\/1\.1 401 /);
  t.notMatch(answer, '100 Continue');
  const other = await send(get('Expect: the-unexpected'));
  t.match(await other.untilEnd(), /^HTTP\/1\.1 417 /);
  t.equal(arrived().length, 0);
});

t.test('C204 an ambiguous target gets a 400', async (t) => {
  const targets = [
    `/${CONFIGMAPS}`,
    '//globex/api/v1/pods',
    `http://stonegate${CONFIGMAPS}`,
    `https://apiserver.invalid${CONFIGMAPS}`,
    '/api/v1/namespaces/default/../../../v1/tenants/globex/pods',
    '/api/v1/%74enants/globex/pods',
    '/api/v1/namespaces/default%2F..%2Fkube-system/pods',
    '/api/v1\\namespaces',
    '*',
    'api/v1',
  ];
  for (const target of targets) {
    const arrived = watchArrivals();
    const client = await send([
      `GET ${target} HTTP/1.1`,
      'Host: stonegate',
      AUTHORIZATION,
      'Connection: close',
    ]);
    const answer = await client.untilEnd();
    t.match(answer, /^HTTP\/1\.1 400 /, target);
    t.match(answer, '"kind":"Status"', target);
    t.equal(arrived().length, 0, target);
  }
});

const SMUGGLED = `GET /api/v1/namespaces/smuggled HTTP/1.1\r\nHost: x\r\n${AUTHORIZATION}\r\n\r\n`;
const post = (...fields: string[]) => [
  `POST ${CONFIGMAPS} HTTP/1.1`,
  'Host: stonegate',
  AUTHORIZATION,
  ...fields,
];

const AMBIGUOUS = [
  ['a length and chunks', post('Content-Length: 4', 'Transfer-Encoding: chunked'), `0\r\n\r\n${SMUGGLED}`],
  ['two lengths', post('Content-Length: 0', `Content-Length: ${SMUGGLED.length}`), SMUGGLED],
  ['a list of lengths', post(`Content-Length: 0, ${SMUGGLED.length}`), SMUGGLED],
  ['a length in hexadecimal', post('Content-Length: 0x0'), SMUGGLED],
  ['a folded field', post('X-Folded: a', ' Transfer-Encoding: chunked', 'Content-Length: 0'), SMUGGLED],
  ['a blank before the colon', post('Content-Length : 0'), SMUGGLED],
  ['a bare line feed', post('X-One: 1\nTransfer-Encoding: chunked', 'Content-Length: 0'), SMUGGLED],
  ['a bare carriage return', post('X-One: 1\rTransfer-Encoding: chunked', 'Content-Length: 0'), SMUGGLED],
  ['chunked given twice', post('Transfer-Encoding: chunked, chunked'), `0\r\n\r\n${SMUGGLED}`],
  [
    'identity after chunked',
    post('Transfer-Encoding: chunked', 'Transfer-Encoding: identity'),
    `0\r\n\r\n${SMUGGLED}`,
  ],
  ['a null byte', post('X-Null: \u0000', 'Content-Length: 0'), SMUGGLED],
  ['two hosts', post('Host: other', 'Content-Length: 0'), SMUGGLED],
  ['a broken chunk', post('Transfer-Encoding: chunked'), `0x0\r\n\r\n${SMUGGLED}`],
  [
    'a chunk that is longer than its length says',
    post('Transfer-Encoding: chunked'),
    `1\r\nxx\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'chunks in HTTP/1.0',
    [`POST ${CONFIGMAPS} HTTP/1.0`, AUTHORIZATION, 'Transfer-Encoding: chunked'],
    `0\r\n\r\n${SMUGGLED}`,
  ],
] as const;

for (const [name, lines, body] of AMBIGUOUS)
  t.test(
    `C209 a request with ${name} gets a 400, the connection closes and nothing is smuggled`,
    async (t) => {
      const arrived = watchArrivals();
      const client = await send(lines, body);
      const answer = await client.untilEnd();
      t.match(answer, /^HTTP\/1\.1 400 /);
      t.equal(answer.match(/^HTTP\/1\.1 \d/gm)?.length, 1, 'one response');
      t.notOk(arrived().some(({ url }) => url.includes('smuggled')));
      client.socket.destroy();
    },
  );

t.test('C209 a request after a refused one on the same connection is not served', async (t) => {
  const arrived = watchArrivals();
  const client = await send(get('Expect: the-unexpected'), SMUGGLED);
  const answer = await client.untilEnd();
  t.match(answer, /^HTTP\/1\.1 417 /);
  t.equal(answer.match(/^HTTP\/1\.1 \d/gm)?.length, 1);
  t.equal(arrived().length, 0);
});

t.test('C209 bytes after a refused upgrade request are not taken for a request', async (t) => {
  const arrived = watchArrivals();
  const client = await send(
    [
      'POST /api/v1/namespaces/default/pods/missing/exec?command=cat HTTP/1.1',
      'Host: stonegate',
      AUTHORIZATION,
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
    ],
    SMUGGLED,
  );
  t.match(await client.untilEnd(), /^HTTP\/1\.1 404 /);
  t.equal(arrived().length, 1);
});

t.test('C207 a connection that opens and resets streams in a loop is closed', async (t) => {
  const arrived = watchArrivals();
  const session = connectH2(`https://localhost:${app.address.port}`, { ca: authority.cert });
  const goaway = once(session, 'goaway');
  session.on('error', () => session.destroy());
  let opened = 0;
  while (!session.destroyed && !session.closed) {
    const streams = Array.from({ length: 50 }, () =>
      session.request({ ':path': CONFIGMAPS, authorization: `Bearer ${token}` }),
    );
    for (const stream of streams) stream.on('error', () => stream.destroy());
    // The requests are sent, but have no response yet.
    await new Promise((resolve) => setImmediate(resolve));
    for (const stream of streams) stream.close(8);
    await new Promise((resolve) => setImmediate(resolve));
    opened += streams.length;
  }
  t.match(await goaway, [11], 'ENHANCE_YOUR_CALM');
  t.ok(arrived().length <= 1_000, `${arrived().length} of ${opened} arrived`);
  await eventually(async () => !/requests_active\{kind="\w+"\} [1-9]/.test(await app.metrics.text()));
  t.equal((await ask(token, CONFIGMAPS)).status, 200);
});

t.test('afterwards requests are served, and no token was logged', async (t) => {
  t.equal((await ask(token, CONFIGMAPS)).status, 200);
  const anonymous = await ask(undefined, CONFIGMAPS);
  t.equal(stonegateCode(anonymous.body), 'CredentialMissing');
  t.same(
    apiServer.requests.filter(({ url }) => url.includes('smuggled')),
    [],
    'nothing was smuggled',
  );
  t.notOk(
    stonegate.logged.some((line) => line.includes(token)),
    'no token in the log',
  );
});
