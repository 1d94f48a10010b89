import fc from 'fast-check';
import t, { type Test } from 'tap';
import { systemClock } from '../../../src/lib/clock.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { StreamRegistry } from '../../../src/proxy/streams/stream-registry.ts';
import { WebSocketFrames } from '../../../src/upstream/websocket-frames.ts';
import { codeOf, startRelay } from '../../support/raw-http/relay.ts';
import { streamFacts } from '../../support/stream-facts.ts';

const WATCH = 'GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: s\r\n\r\n';
const WEBSOCKET =
  'GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const STREAMING = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nevent\n\r\n';
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const CLOSE = '\x88\x02\x03\xe9';

async function setUp(t: Test, kind: 'watch' | 'log' | 'proxy', request: string) {
  const registry = new StreamRegistry({
    limits: { perUser: 9, perTenant: 9 },
    clock: systemClock,
    random: systemRandom,
    telemetry: noTelemetry,
  });
  const stream = registry.open(streamFacts({ kind }));
  const relay = await startRelay({ longRunning: true, endless: kind !== 'proxy', ending: stream });
  t.teardown(() => relay.close());
  const client = await relay.request(request);
  const server = await relay.upstream.next();
  await server.until('\r\n\r\n');
  return { relay, stream, client, server };
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

t.test('a watch over WebSocket gets a close frame between two frames', async (t) => {
  const { relay, stream, client, server } = await setUp(t, 'watch', WEBSOCKET);
  server.send(`${SWITCHING}\x81\x05event`);
  await client.until('event');
  stream.end('refused');
  t.ok((await client.untilEnd()).endsWith(`event${CLOSE}`));
  await server.untilEnd();
  client.socket.end();
  server.socket.end();
  t.match((await relay.ending()).result, { status: 101, aborted: false });
});

t.test('a client that does not answer the close frame holds nothing', async (t) => {
  const { relay, stream, client, server } = await setUp(t, 'watch', WEBSOCKET);
  server.send(SWITCHING);
  await client.until('\r\n\r\n');
  stream.end('refused');
  await client.until(CLOSE);
  relay.clock.advance(10_000);
  t.match((await relay.ending()).result, { status: 101 });
});

t.test('in the midst of a frame it breaks off, as a log and a shell always do', async (t) => {
  for (const [kind, sent] of [
    ['watch', '\x81\x7e\x01\x00half'],
    ['log', '\x81\x04line'],
    ['proxy', '\x81\x04data'],
  ] as const) {
    const { stream, client, server, relay } = await setUp(t, kind, WEBSOCKET);
    server.send(`${SWITCHING}${sent}`);
    await client.until(sent);
    stream.end('refused');
    t.ok((await client.untilEnd()).endsWith(sent), kind);
    t.match((await relay.ending()).result, { status: 101, aborted: true });
  }
});

t.test('however frames are cut into pieces: they end where they end', (t) => {
  const frame = fc
    .tuple(
      fc.oneof(fc.nat({ max: 130 }), fc.constantFrom(125, 126, 127, 65_535, 65_536)),
      fc.boolean(),
      fc.nat(15),
    )
    .map(([length, masked, opcode]) => {
      const mask = masked ? 0x80 : 0;
      const head = [0x80 | opcode];
      const extended = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8);
      if (extended.length === 0) head.push(mask | length);
      else if (extended.length === 2) {
        head.push(mask | 126);
        extended.writeUInt16BE(length);
      } else {
        head.push(mask | 127);
        extended.writeBigUInt64BE(BigInt(length));
      }
      return Buffer.concat([Buffer.from(head), extended, Buffer.alloc((masked ? 4 : 0) + length, 0x81)]);
    });
  fc.assert(
    fc.property(fc.array(frame, { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (sent, cuts) => {
      const stream = Buffer.concat(sent);
      const ends = new Set(sent.map((_, at) => Buffer.concat(sent.slice(0, at + 1)).length));
      const frames = new WebSocketFrames();
      let at = 0;
      for (const to of [...cuts.map((cut) => cut % stream.length), stream.length].sort((a, b) => a - b)) {
        frames.read(stream.subarray(at, to));
        at = to;
        if (frames.complete !== (to === 0 || ends.has(to))) return false;
      }
      return true;
    }),
  );
  t.end();
});
