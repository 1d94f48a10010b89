import t, { type Test } from 'tap';
import { systemClock } from '../../../src/lib/clock.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { StreamRegistry } from '../../../src/proxy/streams/stream-registry.ts';
import { begun, codeOf } from '../../support/raw-http/relay.ts';
import { streamFacts } from '../../support/stream-facts.ts';

const WATCH = 'GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: s\r\n\r\n';
const WEBSOCKET =
  'GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const STREAMING = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nevent\n\r\n';
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

async function setUp(t: Test, kind: 'watch' | 'log' | 'proxy', request: string) {
  const registry = new StreamRegistry({
    limits: { perUser: 9, perTenant: 9 },
    clock: systemClock,
    random: systemRandom,
    telemetry: noTelemetry,
  });
  const stream = registry.open(streamFacts({ kind }));
  const ends = await begun(t, request, { longRunning: true, endless: kind !== 'proxy', ending: stream });
  return { ...ends, stream };
}

t.test('a watch that is ended is finished, and its request to the API server is given up', async (t) => {
  const { relay, stream, client, server } = await setUp(t, 'watch', WATCH);
  server.send(STREAMING);
  await client.until('event');
  stream.end('refused');
  t.match(await client.until('0\r\n\r\n'), /\r\n6\r\nevent\n\r\n0\r\n\r\n$/);
  await server.untilEnd();
  t.match((await relay.ending()).result, { status: 200, aborted: false });
});

for (const kind of ['log', 'proxy'] as const)
  t.test(`a ${kind} that is ended breaks off`, async (t) => {
    const { relay, stream, client, server } = await setUp(t, kind, WATCH);
    server.send(STREAMING);
    await client.until('event');
    stream.end('expired');
    t.notMatch(await client.untilEnd(), /0\r\n\r\n$/);
    await server.untilEnd();
    t.match((await relay.ending()).result, { status: 200, aborted: true });
  });

t.test('a stream that is ended before its response began is refused', async (t) => {
  for (const kind of ['watch', 'log'] as const) {
    const { relay, stream, client, server } = await setUp(t, kind, WATCH);
    stream.end('refused');
    t.match(await client.until('}'), /^HTTP\/1.1 401 /);
    await server.untilEnd();
    t.equal(codeOf((await relay.ending()).error), 'CredentialInvalid');
  }
});

t.test('a tunnel that is ended before the API server has switched is refused', async (t) => {
  for (const kind of ['watch', 'log'] as const) {
    const { relay, stream, client, server } = await setUp(t, kind, WEBSOCKET);
    stream.end('refused');
    t.match(await client.until('}'), /^HTTP\/1.1 401 /);
    await server.untilEnd();
    t.equal(codeOf((await relay.ending()).error), 'CredentialInvalid');
  }
});

t.test('a client that leaves while its tunnel is ended is told nothing', async (t) => {
  const { relay, stream, client } = await setUp(t, 'log', WEBSOCKET);
  client.socket.destroy();
  t.match((await relay.ending()).result, { status: 0, aborted: true });
  stream.end('refused');
});

t.test('an open tunnel that is ended breaks off', async (t) => {
  const { relay, stream, client, server } = await setUp(t, 'watch', WEBSOCKET);
  server.send(`${SWITCHING}\x81\x05event`);
  await client.until('event');
  stream.end('refused');
  t.ok((await client.untilEnd()).endsWith('event'));
  await server.untilEnd();
  t.match((await relay.ending()).result, { status: 101, aborted: true });
});
