/** Malformed bytes after pipelined requests: the pending responses are sent first, in order. */
import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { Http1Connection } from '../../../src/server/http1-connection.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { echoTarget, listenFor, readAll, readSome, socketInTime } from '../../support/server/listening.ts';

const BROKEN = 'POST /broken HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n';
const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** Sends the bytes after a request whose response waits for `release`. */
async function sendBehindSlow(t: Test, bytes: string, { header = 10_000 } = {}) {
  const clock = createFakeClock();
  const served: string[] = [];
  const slow = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<Http1Connection>();
  const left = Promise.withResolvers<void>();
  const listening = await listenFor(
    t,
    async (exchange) => {
      served.push(exchange.target);
      if (exchange.target === '/slow') {
        exchange.signal.addEventListener('abort', () => left.resolve());
        if (exchange.connection instanceof Http1Connection) begun.resolve(exchange.connection);
        await slow.promise;
      }
      await echoTarget(exchange);
    },
    { clock, timeouts: { header, idle: 60_000, stall: 60_000 } },
  );
  const { socket, begun: connection, answers } = await socketInTime(listening, get('/slow'), begun.promise);
  socket.write(bytes);
  return { clock, served, socket, answers, connection, left: left.promise, release: () => slow.resolve() };
}

/** The status of each response and, of served requests, the target. */
function answersIn(text: string) {
  return text
    .split(/(?=HTTP\/1\.1 )/)
    .filter((answer) => answer !== '')
    .map((answer) => `${answer.slice(9, 12)} ${/\r\n(\/.*)\r\n/.exec(answer)?.[1] ?? 'refused'}`);
}

const LARGE = `GET /large HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(70_000)}\r\n\r\n`;
for (const [what, bytes, answers, header] of [
  ['a head that never ends', 'GET /late HTTP/1.1\r\nHo', '200 /slow, 408 refused', 50],
  ['malformed bytes', 'nonsense\r\n\r\n', '200 /slow, 400 refused'],
  ['a head beyond the limit', LARGE, '200 /slow, 431 refused'],
  [
    'malformed bytes after another request',
    `${get('/next')}nonsense\r\n\r\n`,
    '200 /slow, 200 /next, 400 refused',
  ],
  ['a request with a malformed body', BROKEN, '200 /slow, 400 refused'],
] as const)
  t.test(`after a slow request, ${what} is refused once the slow response is sent, not before`, async (t) => {
    const slow = await sendBehindSlow(t, bytes, { ...(header && { header }) });
    await eventually(() => slow.connection.refused);
    slow.release();
    t.equal(answersIn(await slow.answers).join(', '), answers);
  });

t.test('an endless response does not keep a connection open after malformed bytes', async (t) => {
  const slow = await sendBehindSlow(t, 'nonsense\r\n\r\n');
  await eventually(() => slow.connection.refused);
  slow.clock.advance(60_000);
  await t.resolves(slow.left);
  t.equal(await slow.answers, '');
});

t.test(
  'a response that has begun is aborted if its request is malformed, without a second response',
  async (t) => {
    const listening = await listenFor(t, async ({ response }) => {
      response.writeHead(200, []);
      response.write(Buffer.from('/begun'));
    });
    const socket = await listening.socket();
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const begun = await readUntil(socket, '/begun');
    socket.write('nonsense\r\n');
    t.notMatch(`${begun}${await readAll(socket)}`, ' 400 ');
  },
);

t.test('a request with an early response gets no second one if its body is malformed', async (t) => {
  const listening = await listenFor(t, async ({ response }) => {
    response.writeHead(401, [['Content-Length', '2']]);
    response.end('no');
  });
  const socket = await listening.socket();
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const answered = await readUntil(socket, '\r\n\r\nno');
  socket.write('nonsense\r\n');
  t.notMatch(`${answered}${await readAll(socket)}`, ' 400 ');
});

t.test('requests after a refusal are ignored, and many of them close the connection', async (t) => {
  const slow = await sendBehindSlow(t, 'GET /late HTTP/1.1\r\nHo', { header: 50 });
  await eventually(() => slow.connection.refused);
  slow.socket.write(`st: x\r\n\r\n${get('/more').repeat(20)}`);
  await t.resolves(slow.left);
  t.same(slow.served, ['/slow']);
});

t.test('a request whose body is malformed while it is served is cancelled', async (t) => {
  const given = Promise.withResolvers<AbortSignal>();
  const listening = await listenFor(t, async ({ signal, body }) => {
    body.resume();
    given.resolve(signal);
    await once(signal, 'abort');
  });
  const socket = await listening.socket();
  const answers = readAll(socket);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const signal = await given.promise;
  socket.write('nonsense\r\n');
  t.same(answersIn(await answers), ['400 refused']);
  t.ok(signal.aborted);
});

t.test('a response on the wire is completed, whatever bytes follow its request', async (t) => {
  const more = Promise.withResolvers<void>();
  let connection: object | undefined;
  const listening = await listenFor(t, async (exchange) => {
    connection = exchange.connection;
    exchange.response.writeHead(200, []);
    exchange.response.write(Buffer.from('/begun'));
    await more.promise;
    exchange.response.end(' and ended');
  });
  const socket = await listening.socket();
  socket.write(get('/'));
  const begun = await readUntil(socket, '/begun');
  socket.write('nonsense\r\n\r\n');
  await eventually(() => connection instanceof Http1Connection && connection.refused);
  const rest = readAll(socket);
  more.resolve();
  t.match(`${begun}${await rest}`, /^HTTP\/1\.1 200 [\s\S]* and ended\r\n0\r\n\r\nHTTP\/1\.1 400 /);
});

t.test('after a request with Connection: close, further bytes are ignored', async (t) => {
  const said: string[] = [];
  const logger = { ...silentLogger, info: (_: object, message: string) => void said.push(message) };
  const listening = await listenFor(t, echoTarget, { logger });
  const socket = await listening.socket();
  socket.write('GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nnonsense\r\n\r\n');
  t.same(answersIn(await readAll(socket)), ['200 /last']);
  t.same(said, []);
});

for (const [what, bytes] of [
  ['in the middle of a head', 'GET /late HTTP/1.1\r\nHo'],
  ['after malformed bytes', 'nonsense\r\n\r\n'],
] as const)
  t.test(`if a client disconnects ${what}, its pending request is cancelled`, async (t) => {
    const slow = await sendBehindSlow(t, bytes);
    if (what === 'after malformed bytes') await eventually(() => slow.connection.refused);
    slow.socket.end();
    await t.resolves(slow.left);
    t.equal(await slow.answers, '');
  });

async function readUntil(socket: TLSSocket, part: string) {
  let text = '';
  while (!text.includes(part)) text += await readSome(socket);
  return text;
}
