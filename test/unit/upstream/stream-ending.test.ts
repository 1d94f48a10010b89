/**
 * Requests that are ended before their response has begun. `e2e/streams-end.test.ts` ends open streams.
 */
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

async function setUp(t: Test, kind: 'watch' | 'log', request: string) {
  const registry = new StreamRegistry({
    limits: { perUser: 9, perTenant: 9 },
    clock: systemClock,
    random: systemRandom,
    telemetry: noTelemetry,
  });
  const stream = registry.open(streamFacts({ kind }));
  const ends = await begun(t, request, { longRunning: true, endless: true, ending: stream });
  return { ...ends, stream };
}

for (const [what, request] of [
  ['stream', WATCH],
  ['tunnel', WEBSOCKET],
] as const)
  t.test(`a ${what} whose user loses access before the response begins is a 401`, async (t) => {
    const { relay, stream, client, server } = await setUp(t, 'watch', request);
    stream.end('refused');
    t.match(await client.until('}'), /^HTTP\/1.1 401 /);
    await server.untilEnd();
    t.equal(codeOf((await relay.ending()).error), 'CredentialInvalid');
  });

t.test('a tunnel may be ended after its client has disconnected', async (t) => {
  const { relay, stream, client } = await setUp(t, 'log', WEBSOCKET);
  client.socket.destroy();
  t.match((await relay.ending()).result, { status: 0, aborted: true });
  stream.end('refused');
});
