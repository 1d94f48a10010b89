/** Requests and responses in both protocols. */
import { once } from 'node:events';
import t from 'tap';
import { echoTarget, listenFor, readAll, readSome, request2 } from '../../support/server/listening.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

t.test('requests of one connection share a connection object, those of two do not', async (t) => {
  const connections: (object | undefined)[] = [];
  const listening = await listenFor(t, async (exchange) => {
    connections.push(exchange.connection);
    await echoTarget(exchange);
  });
  for (let client = 0; client < 2; client += 1) {
    const session = await listening.session();
    await request2(session, { ':path': '/' });
    await request2(session, { ':path': '/' });
    session.close();
    const socket = await listening.socket();
    socket.write(`${GET}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await readAll(socket);
  }
  t.equal(connections.length, 8);
  t.equal(new Set(connections).size, 4);
  t.notOk(connections.includes(undefined));
  for (let first = 0; first < 8; first += 2) t.equal(connections[first], connections[first + 1]);
});

for (const [what, head] of [
  ['a request without a body', 'POST / HTTP/1.1\r\nHost: x\r\n'],
  ['a request with a body of no bytes', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n'],
  ['a request of HTTP/1.0 without a body', 'POST / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n'],
] as const)
  t.test(`${what} has an empty body, and the next request follows`, async (t) => {
    const listening = await listenFor(t, async ({ body, response }) => {
      const chunks = await body.toArray();
      response.writeHead(200, [['Content-Length', '1']]);
      response.end(String(chunks.length));
    });
    const socket = await listening.socket();
    socket.write(`${head}\r\n`);
    t.match(await readSome(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n0$/);
    socket.write(`${head}\r\n`);
    t.match(await readSome(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n0$/);
    socket.destroy();
  });

t.test(
  'a response of known length is complete after its last byte, with head and body in one packet',
  async (t) => {
    const answered = Promise.withResolvers<boolean[]>();
    const listening = await listenFor(t, async ({ response }) => {
      response.writeHead(200, [['content-length', '10']]);
      response.write(Buffer.from('hello'));
      const before = response.closed;
      response.write(Buffer.from('world'));
      answered.resolve([before, response.closed]);
      // Later writes must not reach the client or break its connection.
      response.write(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
      response.end('more');
    });
    const socket = await listening.socket();
    socket.write(GET);
    t.same(await answered.promise, [false, true]);
    t.match(await readSome(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nhelloworld$/);
    socket.write(GET);
    t.match(await readSome(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nhelloworld$/);
    socket.destroy();
  },
);

t.test('a handler that throws synchronously is a 500 like any other error', async (t) => {
  const listening = await listenFor(t, () => {
    throw new Error('a fault of ours');
  });
  const session = await listening.session();
  t.match(await request2(session, { ':path': '/' }), { status: 500 });
  session.close();
  await once(session, 'close');
});

t.test('over HTTP/2, repeated fields stay repeated, and a field may have any name', async (t) => {
  const listening = await listenFor(t, async ({ response }) => {
    response.writeHead(200, [
      ['X-Two', '1'],
      ['x-two', '2'],
      ['X-TWO', '3'],
      ['constructor', 'a'],
      ['__proto__', 'b'],
    ]);
    response.end();
  });
  const session = await listening.session();
  const { headers } = await request2(session, { ':path': '/' });
  t.equal(headers['x-two'], '1, 2, 3');
  t.equal(headers.constructor, 'a');
  t.equal(Object.entries(headers).find(([name]) => name === '__proto__')?.[1], 'b');
  session.close();
});
