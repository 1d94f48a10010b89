import t, { type Test } from 'tap';
import { eventually } from '../../support/eventually.ts';
import { begun, type RelayOptions, relayFor, TIMEOUTS } from '../../support/raw-http/relay.ts';

const EXEC =
  'POST /api/v1/namespaces/n/pods/p/exec?command=sh HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n';
const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n';

const begin = (test: Test, options: RelayOptions = {}, text = EXEC) =>
  begun(test, text, { longRunning: true, ...options });

/** An open tunnel, and its two ends. */
async function tunnelFor(test: Test) {
  const opening = await begin(test);
  opening.server.send(SWITCHING);
  await opening.client.until('\r\n\r\n');
  return opening;
}

t.test('bytes that either side sends with its head arrive', async (t) => {
  const { client, server } = await begin(t, {}, `${EXEC}early from client`);
  t.notMatch(server.received, 'early');
  server.send(`${SWITCHING}early from server`);
  await client.until('early from server');
  await server.until('early from client');
});

for (const [name, options, text, status] of [
  ['C088 another credential', { headers: () => [['Authorization', 'Bearer theirs']] }, EXEC, 500],
  ['a header that HTTP cannot express', { headers: () => [['X', 'a\u2028b']] }, EXEC, 500],
  ['a target that HTTP cannot express', { exchange: (e) => ({ ...e, target: '/a b' }) }, EXEC, 500],
  ...['h2c', 'constructor', '__proto__'].map(
    (protocol) => [`the protocol ${protocol}`, {}, EXEC.replace('SPDY/3.1', protocol), 400] as const,
  ),
] as [string, RelayOptions, string, number][])
  t.test(`an upgrade with ${name} is a ${status}, and nothing is sent`, async (t) => {
    const relay = await relayFor(t, { longRunning: true, ...options });
    const client = await relay.request(text);
    t.match(await client.untilEnd(), new RegExp(`^HTTP/1.1 ${status} `));
    t.equal(relay.upstream.connections.length, 0);
    t.equal(relay.clock.pending, 0);
  });

for (const answer of [
  'Upgrade: h2c\r\n',
  'Upgrade: websocket\r\n',
  'Upgrade: SPDY/3.1, h2c\r\n',
  'Upgrade: SPDY/3.1\r\nUpgrade: h2c\r\n',
])
  t.test(`a switch with ${JSON.stringify(answer)} is a 503, an error in the log and no tunnel`, async (t) => {
    const { relay, client, server } = await begin(t, {}, `${EXEC}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`);
    const before = server.received.length;
    server.send(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n${answer}\r\n`);
    t.match(await client.until('UpstreamUnavailable'), /^HTTP\/1\.1 503 /);
    await server.untilEnd();
    t.equal(server.received.length, before, 'nothing of the client’s bytes');
    t.match(relay.log, [{ level: 'error', message: /not asked for/ }]);
    t.equal(relay.clock.pending, 0);
  });

for (const [name, sent, received, heads, options = {}] of [
  [
    'of 401 by a workload',
    '401 No\r\nContent-Length: 4\r\n\r\nnope',
    /401 .*nope$/s,
    [401],
    { proxied: true },
  ],
  ['of 101 without a switch', '101 Switching Protocols\r\n\r\n', /503 .*UpstreamUnavailable/s, []],
  ['of an unknown status', '600 Odd\r\nContent-Length: 0\r\n\r\n', /503 .*UpstreamUnavailable/s, []],
] as const)
  t.test(`a response ${name} to an upgrade is passed or replaced, and both sides close`, async (t) => {
    const { relay, client, server } = await begin(t, options);
    server.send(`HTTP/1.1 ${sent}`);
    t.match(await client.untilEnd(), received);
    await server.untilEnd();
    t.same((await relay.ending()).heads, heads);
    t.equal(relay.upstream.connections.length, 1);
    t.equal(relay.clock.pending, 0);
  });

t.test('a refusal that breaks off or stalls closes the client’s connection', async (t) => {
  for (const fault of ['reset', 'silence']) {
    const { relay, client, server } = await begin(t);
    server.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nhalf');
    await client.until('half');
    if (fault === 'reset') server.reset();
    else relay.clock.advance(TIMEOUTS.response);
    await client.untilEnd();
    await server.untilEnd();
    t.match(await relay.ending(), { result: { status: 403, aborted: true } });
  }
});

t.test('a large refusal is sent no faster than the client reads', async (t) => {
  const relay = await relayFor(t, { longRunning: true });
  const client = await relay.client();
  client.socket.pause();
  client.send(EXEC);
  const server = await relay.upstream.next();
  const block = 'x'.repeat(32 * 1024 * 1024);
  server.send(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${block.length}\r\n\r\n${block}`);
  await eventually(() => server.socket.writableNeedDrain && relay.clock.pending === 1);
  client.socket.resume();
  t.ok((await client.untilEnd()).endsWith('x'));
  t.same(await relay.ending(), { result: { status: 403, aborted: false }, heads: [403] });
});

t.test('an open tunnel', async (t) => {
  t.test('C103 C104 may be idle for a day and is usable then', async (t) => {
    const { relay, client, server } = await tunnelFor(t);
    relay.clock.advance(24 * 3_600_000);
    client.send('ping');
    await server.until('ping');
    server.send('pong');
    await client.until('pong');
    t.equal(relay.clock.pending, 0);
  });

  t.test('C034 C105 delivers what either side sent before the other closed', async (t) => {
    const { relay, client, server } = await tunnelFor(t);
    client.send('last words');
    client.socket.end();
    t.match(await server.untilEnd(), /last words$/);
    server.send('answer to them');
    server.socket.end();
    t.match(await client.untilEnd(), /answer to them$/);
    t.same(await relay.ending(), { result: { status: 101, aborted: false }, heads: [101] });
    await eventually(() => relay.upstream.open === 0);
    t.equal(relay.clock.pending, 0);
  });

  t.test('makes a fast sender wait for a slow receiver', async (t) => {
    const { client, server } = await tunnelFor(t);
    client.socket.pause();
    const block = Buffer.alloc(64 * 1024 * 1024, 'x');
    server.socket.write(block);
    await eventually(() => server.socket.writableNeedDrain && server.socket.bytesWritten > 0);
    client.socket.resume();
    await eventually(() => client.socket.bytesRead > block.length);
    t.notOk(server.socket.writableNeedDrain);
  });

  for (const side of ['client', 'server'] as const)
    t.test(`C201 closes the other side if the ${side} breaks off`, async (t) => {
      const ends = await tunnelFor(t);
      ends[side].reset();
      await ends[side === 'client' ? 'server' : 'client'].untilEnd();
      t.same(await ends.relay.ending(), { result: { status: 101, aborted: true }, heads: [101] });
    });

  t.test('C201 is closed if it stays half open', async (t) => {
    const { relay, client, server } = await tunnelFor(t);
    server.socket.end();
    await client.untilEnd();
    relay.clock.advance(10_000);
    await eventually(() => server.socket.destroyed || server.ended);
    t.match(await relay.ending(), { result: { status: 101 } });
    t.equal(relay.clock.pending, 0);
  });

  t.test('keeps close() waiting, and is broken off by destroy()', async (t) => {
    const { relay, client, server } = await tunnelFor(t);
    let closed = false;
    const closing = relay.adapter.close().then(() => {
      closed = true;
    });
    client.send('still open');
    await server.until('still open');
    t.notOk(closed);
    await relay.adapter.destroy();
    await client.untilEnd();
    await server.untilEnd();
    await closing;
  });
});

t.test('C201 an API server that closes the connection before it has responded is a 503', async (t) => {
  const { client, server, relay } = await begin(t);
  server.socket.end();
  t.match(await client.untilEnd(), /^HTTP\/1\.1 503 /);
  await server.untilEnd();
  t.equal(relay.clock.pending, 0);
});

t.test('C201 a client that disconnects first leaves no connection behind', async (t) => {
  for (const way of ['reset', 'close']) {
    const { relay, client, server } = await begin(t);
    if (way === 'reset') client.reset();
    else client.socket.destroy();
    await server.untilEnd();
    t.same(await relay.ending(), { result: { status: 0, aborted: true }, heads: [] });
    t.equal(relay.clock.pending, 0);
  }
});

t.test('no request is sent for a client that has disconnected', async (t) => {
  const gone = AbortSignal.abort();
  const relay = await relayFor(t, { exchange: (exchange) => ({ ...exchange, signal: gone }) });
  await relay.request(EXEC);
  t.match(await relay.ending(), { result: { status: 0, aborted: true } });
  t.equal(relay.upstream.connections.length, 0);
});
