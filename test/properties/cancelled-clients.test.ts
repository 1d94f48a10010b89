/**
 * When a client disconnects, its request to the API server ends, however much of the body was sent or read
 * and whenever the client disconnects.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import fc from 'fast-check';
import t from 'tap';
import { silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { createUpstream } from '../../src/upstream/upstream.ts';
import { eventually } from '../support/eventually.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { LIMITS } from '../support/raw-http/relay.ts';
import { startListener } from '../support/server/listening.ts';

const LENGTH = 6_000_000;

interface Case {
  readonly method: 'GET' | 'POST';
  readonly longRunning: boolean;
  /** Whether the API server begins a response that it never ends. */
  readonly answers: boolean;
  /** Whether the API server reads the body. */
  readonly takes: boolean;
  readonly sent: number;
  readonly pipelined: boolean;
  readonly leaves: 'in order' | 'at once';
}

let now: Case;
let asked = 0;
const apiServer = createServer((request, response) => {
  asked += 1;
  if (now.takes) request.resume();
  request.on('error', () => undefined);
  if (now.answers) response.writeHead(200).write('begun');
});
apiServer.listen(0, '127.0.0.1');
await once(apiServer, 'listening');
const address = apiServer.address();
if (address === null || typeof address === 'string') throw new Error('no port');

const clock = createFakeClock();
const upstream = createUpstream({
  server: `http://127.0.0.1:${address.port}`,
  credential: { token: 'our-token' },
  timeouts: { connect: 1_000_000, response: 60_000, body: 60_000 },
  maxBodyBytes: 100_000_000,
  limits: LIMITS,
  clock,
  logger: silentLogger,
  telemetry: noTelemetry,
});
let underWay = 0;
const listening = await startListener(
  async (exchange) => {
    const { method, longRunning } = now;
    underWay += 1;
    await upstream
      .forward(
        {
          account: { kind: 'tenant', tenant: toTenantName('acme') } as const,
          sender: { kind: 'stonegate' },
          method,
          target: '/',
          headers: [],
          longRunning,
          endless: longRunning,
          proxied: false,
          dropsBookmarks: false,
        },
        exchange,
        { onHead: () => undefined },
      )
      .finally(() => {
        underWay -= 1;
      });
  },
  { clock },
);
t.teardown(async () => {
  await upstream.destroy();
  apiServer.closeAllConnections();
  apiServer.close();
  await listening.close();
});

const cases: fc.Arbitrary<Case> = fc.record({
  method: fc.constantFrom('GET', 'POST'),
  longRunning: fc.boolean(),
  answers: fc.boolean(),
  takes: fc.boolean(),
  sent: fc.constantFrom(0, 1, 50_000, 300_000, 3_000_000, LENGTH - 1, LENGTH),
  pipelined: fc.boolean(),
  leaves: fc.constantFrom('in order', 'at once'),
});

t.test('no request to the API server outlives its client', async (t) => {
  const property = fc.asyncProperty(cases, async (chosen) => {
    now = chosen;
    asked = 0;
    const socket = await listening.socket();
    socket.on('error', () => socket.destroy());
    socket.resume();
    const first = chosen.pipelined ? 'GET / HTTP/1.1\r\nHost: x\r\n\r\n' : '';
    socket.write(`${first}${chosen.method} / HTTP/1.1\r\nHost: x\r\nContent-Length: ${LENGTH}\r\n\r\n`);
    socket.write(Buffer.alloc(chosen.sent));
    // The request head is not forwarded before the first byte of the body.
    await eventually(() => asked > 0 || (underWay > 0 && chosen.sent === 0));
    if (chosen.leaves === 'in order') socket.end();
    else socket.destroy();
    await eventually(() => {
      clock.advance(1_000);
      return underWay === 0 && listening.listener.activeConnections === 0;
    });
    socket.destroy();
  });
  await t.resolves(fc.assert(property, { numRuns: 60 }));
});
