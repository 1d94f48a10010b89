import t, { type Test } from 'tap';
import { eventually } from '../../support/eventually.ts';
import { type Relay, type RelayOptions, startRelay, TIMEOUTS } from '../../support/raw-http/relay.ts';

const EXEC =
  'POST /api/v1/namespaces/n/pods/p/exec?command=sh HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n';
const WEBSOCKET =
  'GET /api/v1/namespaces/n/pods/p/exec HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n';

async function relayFor(test: Test, options: RelayOptions = {}): Promise<Relay> {
  const relay = await startRelay({ longRunning: true, ...options });
  test.teardown(() => relay.close());
  return relay;
}

/** A tunnel that stands, and its two ends. */
async function tunnelFor(test: Test, options: RelayOptions = {}) {
  const relay = await relayFor(test, options);
  const client = await relay.request(EXEC);
  const server = await relay.upstream.next();
  await server.until('\r\n\r\n');
  server.send(SWITCHING);
  await client.until('\r\n\r\n');
  return { relay, client, server };
}

t.test('opening', async (t) => {
  t.test(
    'C199 C070 a POST with Upgrade: SPDY/3.1 goes through, over HTTP/1.1 with our identity',
    async (t) => {
      const relay = await relayFor(t, {
        headers: () => [
          ['X-Stream-Protocol-Version', 'v4.channel.k8s.io'],
          ['X-Stream-Protocol-Version', 'channel.k8s.io'],
          ['Impersonate-User', 'acme:alice'],
        ],
      });
      const client = await relay.request(EXEC);
      const server = await relay.upstream.next();
      const received = await server.until('\r\n\r\n');
      t.equal(
        received,
        [
          'POST /api/v1/namespaces/n/pods/p/exec?command=sh HTTP/1.1',
          `Host: 127.0.0.1:${relay.upstream.port}`,
          'Connection: Upgrade',
          'Upgrade: SPDY/3.1',
          'Content-Length: 0',
          'X-Stream-Protocol-Version: v4.channel.k8s.io',
          'X-Stream-Protocol-Version: channel.k8s.io',
          'Impersonate-User: acme:alice',
          'Authorization: Bearer our-token',
          '\r\n',
        ].join('\r\n'),
      );
      server.send(SWITCHING);
      t.equal(await client.until('\r\n\r\n'), SWITCHING);
    },
  );

  t.test("a GET with Upgrade: websocket goes through, and the answer is the API server's own", async (t) => {
    const relay = await relayFor(t, { headers: ({ headers }) => headers });
    const client = await relay.request(WEBSOCKET);
    const server = await relay.upstream.next();
    const received = await server.until('\r\n\r\n');
    t.match(received, /\r\nUpgrade: websocket\r\n/);
    t.match(received, /\r\nSec-WebSocket-Key: dGhl/);
    t.notMatch(received, /content-length|transfer-encoding/i);
    const answer =
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n';
    server.send(answer);
    t.equal(await client.until('\r\n\r\n'), answer);
  });

  t.test('what either end sends along with its head arrives', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(`${EXEC}early from client`);
    const server = await relay.upstream.next();
    await server.until('\r\n\r\n');
    t.notMatch(server.received, 'early');
    server.send(`${SWITCHING}early from server`);
    await client.until('early from server');
    await server.until('early from client');
  });

  t.test('C088 is refused if another credential is still on the request', async (t) => {
    const relay = await relayFor(t, { headers: () => [['Authorization', 'Bearer theirs']] });
    const client = await relay.request(EXEC);
    t.match(await client.until('InvariantBroken'), /^HTTP\/1\.1 500 /);
    t.equal(relay.upstream.connections.length, 0);
  });
});

t.test('the protocol', async (t) => {
  for (const protocol of ['h2c', 'HTTP/2.0', 'tls/1.0', 'constructor', '__proto__', 'toString']) {
    t.test(`${protocol} is never asked for: 400, and the API server hears nothing`, async (t) => {
      const relay = await relayFor(t);
      const client = await relay.request(EXEC.replace('SPDY/3.1', protocol));
      t.match(await client.untilEnd(), /^HTTP\/1\.1 400 .*RequestMalformed/s);
      t.equal(relay.upstream.connections.length, 0);
    });
  }

  for (const answer of [
    'Upgrade: h2c\r\n',
    'Upgrade: websocket\r\n',
    'Upgrade: SPDY/3.1, h2c\r\n',
    'Upgrade: SPDY/3.1\r\nUpgrade: h2c\r\n',
  ]) {
    t.test(
      `an answer of ${JSON.stringify(answer)} to SPDY/3.1 is a 503, a loud line and no tunnel`,
      async (t) => {
        const relay = await relayFor(t);
        const client = await relay.request(`${EXEC}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`);
        const server = await relay.upstream.next();
        await server.until('\r\n\r\n');
        const before = server.received.length;
        server.send(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n${answer}\r\n`);
        t.match(await client.until('UpstreamUnavailable'), /^HTTP\/1\.1 503 /);
        await server.untilEnd();
        t.equal(server.received.length, before, 'not one byte more');
        t.match(relay.log, [{ level: 'error', message: /not asked for/ }]);
        t.equal(relay.clock.pending, 0);
      },
    );
  }

  t.test('an answer of 101 without any is a 503', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    server.send('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    t.match(await client.until('UpstreamUnavailable'), /^HTTP\/1\.1 503 /);
    await server.untilEnd();
  });
});

t.test('a refusal', async (t) => {
  for (const status of ['099', '600', '999']) {
    t.test(`of status ${status} is a 503`, async (t) => {
      const relay = await relayFor(t);
      const client = await relay.request(EXEC);
      const server = await relay.upstream.next();
      server.send(`HTTP/1.1 ${status} Odd\r\nContent-Length: 0\r\n\r\n`);
      t.match(await client.untilEnd(), /^HTTP\/1\.1 503 .*UpstreamUnavailable/s);
      await server.untilEnd();
    });
  }

  t.test('of 401 by a workload is its own', async (t) => {
    const relay = await relayFor(t, { proxied: true });
    const client = await relay.request(WEBSOCKET);
    const server = await relay.upstream.next();
    server.send('HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope');
    t.match(await client.untilEnd(), /^HTTP\/1\.1 401 .*nope$/s);
    t.same(relay.log, []);
  });

  t.test('C200 of 403 with a JSON body is relayed, and then both sides close', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    const body = '{"kind":"Status","code":403}';
    server.send(
      `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const received = await client.untilEnd();
    t.match(received, /^HTTP\/1\.1 403 /);
    t.match(received, /\r\nContent-Type: application\/json\r\n/);
    t.ok(received.endsWith(body));
    await server.untilEnd();
    t.same(await relay.ending(), { result: { status: 403, aborted: false }, heads: [403] });
    t.equal(relay.clock.pending, 0);
  });

  t.test('C203 of 3xx is relayed and not followed', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    server.send(`HTTP/1.1 302 Found\r\nLocation: ${relay.upstream.url}/else\r\nContent-Length: 0\r\n\r\n`);
    t.match(await client.untilEnd(), /^HTTP\/1\.1 302 .*\r\nLocation: /s);
    await relay.ending();
    t.equal(relay.upstream.connections.length, 1);
  });

  t.test('of 401 concerns our credential: a 503 and a loud log line', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    server.send('HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope');
    const received = await client.untilEnd();
    t.match(received, /^HTTP\/1\.1 503 .*UpstreamRefusedCredential/s);
    t.notMatch(received, 'nope');
    await server.untilEnd();
    t.match(relay.log, [{ level: 'error', message: /refused Stonegate's credential/ }]);
    t.same(relay.calls, ['refused']);
  });

  t.test('that breaks off in its midst breaks the client off', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    server.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nhalf');
    await client.until('half');
    server.reset();
    await client.untilEnd();
    t.match(await relay.ending(), { result: { status: 403, aborted: true } });
  });

  t.test('of any length is relayed no faster than the client reads', async (t) => {
    const relay = await relayFor(t);
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

  t.test('that falls silent in its midst breaks the client off', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    server.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nhalf');
    await client.until('half');
    relay.clock.advance(TIMEOUTS.response);
    await client.untilEnd();
    await server.untilEnd();
    t.match(await relay.ending(), { result: { status: 403, aborted: true } });
  });
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

  t.test('C034 C105 carries what was sent before one side finished, both ways', async (t) => {
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

  t.test('C201 ends for the API server when the client breaks off', async (t) => {
    const { relay, client, server } = await tunnelFor(t);
    client.reset();
    await server.untilEnd();
    t.same(await relay.ending(), { result: { status: 101, aborted: true }, heads: [101] });
  });

  t.test('C201 ends for the client when the API server breaks off', async (t) => {
    const { relay, client, server } = await tunnelFor(t);
    server.reset();
    await client.untilEnd();
    t.same(await relay.ending(), { result: { status: 101, aborted: true }, heads: [101] });
  });

  t.test('C201 does not stay half open for ever', async (t) => {
    const { relay, client, server } = await tunnelFor(t);
    server.socket.end();
    await client.untilEnd();
    relay.clock.advance(10_000);
    await eventually(() => server.socket.destroyed || server.ended);
    t.match(await relay.ending(), { result: { status: 101 } });
    t.equal(relay.clock.pending, 0);
  });

  t.test('is broken off when the adapter is destroyed, and waited for when it is closed', async (t) => {
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

t.test('faults while opening', async (t) => {
  for (const [name, options] of [
    ['a header that HTTP cannot say', { headers: () => [['X', 'a\u2028b']] }],
    ['a target that HTTP cannot say', { exchange: (e) => ({ ...e, target: '/a b' }) }],
  ] as [string, RelayOptions][]) {
    t.test(`${name} is a 500`, async (t) => {
      const relay = await relayFor(t, options);
      const client = await relay.request(EXEC);
      t.match(await client.untilEnd(), /^HTTP\/1\.1 500 .*InvariantBroken/s);
      t.equal(relay.clock.pending, 0);
    });
  }

  t.test('C201 an API server that closes before it has answered is a 503', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    await server.until('\r\n\r\n');
    server.socket.end();
    t.match(await client.untilEnd(), /^HTTP\/1\.1 503 .*UpstreamUnavailable/s);
    t.same(relay.calls, ['error']);
    t.equal(relay.clock.pending, 0);
  });

  t.test('an API server that is not there is a 503', async (t) => {
    const relay = await relayFor(t, { server: 'http://127.0.0.1:1' });
    const client = await relay.request(EXEC);
    t.match(await client.untilEnd(), /^HTTP\/1\.1 503 .*UpstreamUnavailable/s);
  });

  t.test('an API server that never answers is a 504', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    await server.until('\r\n\r\n');
    relay.clock.advance(TIMEOUTS.response);
    t.match(await client.untilEnd(), /^HTTP\/1\.1 504 .*UpstreamTimeout/s);
    await server.untilEnd();
  });

  t.test('garbage instead of an answer is a 503', async (t) => {
    const relay = await relayFor(t);
    const client = await relay.request(EXEC);
    const server = await relay.upstream.next();
    server.send('SSH-2.0-OpenSSH_9.6\r\n\r\n');
    t.match(await client.untilEnd(), /^HTTP\/1\.1 503 .*UpstreamUnavailable/s);
  });

  for (const leave of ['reset', 'close'] as const) {
    t.test(`C201 a client that leaves first (${leave}) leaves no connection behind`, async (t) => {
      const relay = await relayFor(t);
      const client = await relay.request(EXEC);
      const server = await relay.upstream.next();
      await server.until('\r\n\r\n');
      if (leave === 'reset') client.reset();
      else client.socket.destroy();
      await server.untilEnd();
      t.same(await relay.ending(), { result: { status: 0, aborted: true }, heads: [] });
      t.equal(relay.clock.pending, 0);
    });
  }

  t.test('a client that leaves before the request was sent causes none', async (t) => {
    const gone = AbortSignal.abort();
    const relay = await relayFor(t, { exchange: (exchange) => ({ ...exchange, signal: gone }) });
    await relay.request(EXEC);
    t.match(await relay.ending(), { result: { status: 0, aborted: true } });
    t.equal(relay.upstream.connections.length, 0);
  });
});
