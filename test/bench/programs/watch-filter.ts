/**
 * What dropping bookmarks costs a watch's event: the CPU of the forwarder alone, with the filter and without
 * it, in turns of one run. The API server and the client are a process of their own. Run it with `node
 * test/bench/programs/watch-filter.ts`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { systemClock } from '../../../src/lib/clock.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { createUpstream } from '../../../src/upstream/upstream.ts';
import { startExchangeServer } from '../../support/raw-http/exchange-server.ts';
import { spreadOf } from '../statistics.ts';

const EVENTS = 5_000;
const TURNS = 31;
/** Programs that compile themselves. */
const FIRST_TURNS = 8;
const KINDS = [
  { name: 'events of 300 bytes, one a packet', bytes: 300, together: 1 },
  { name: 'events of 2 kB, one a packet', bytes: 2_000, together: 1 },
  { name: 'events of 2 kB, thirty a packet', bytes: 2_000, together: 30 },
  { name: 'events of 100 kB', bytes: 100_000, together: 1 },
] as const;

const ends = fork(new URL('watch-ends.ts', import.meta.url));
const [upstreamPort]: unknown[] = await once(ends, 'message');
let dropsBookmarks = false;
const adapter = createUpstream({
  server: `http://127.0.0.1:${upstreamPort}`,
  credential: { token: 'x' },
  passThrough: false,
  timeouts: { connect: 5_000, response: 60_000, body: 30_000 },
  maxBodyBytes: 1_000_000,
  limits: { tenantQueue: { requests: 256, bytes: 8 * 1024 * 1024 }, sources: 8 },
  clock: systemClock,
  logger: { debug() {}, info() {}, warn: console.error, error: console.error },
  telemetry: noTelemetry,
});
const server = await startExchangeServer(async (exchange) => {
  await adapter.forward(
    {
      account: { kind: 'tenant', tenant: toTenantName('acme') },
      sender: { kind: 'stonegate' },
      method: exchange.method,
      target: exchange.target,
      headers: [],
      longRunning: true,
      endless: true,
      proxied: false,
      dropsBookmarks,
    },
    exchange,
    { onHead() {} },
  );
});

/** Microseconds of CPU for an event. */
async function turn(bytes: number, together: number, events: number): Promise<number> {
  const before = process.cpuUsage();
  ends.send({ port: server.port, bytes, together, events });
  await once(ends, 'message');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / events;
}

for (const { name, bytes, together } of KINDS) {
  const events = Math.round(Math.min(EVENTS, 100_000_000 / bytes));
  const costs: { plain: number; filtered: number }[] = [];
  for (let round = 0; round < TURNS; round += 1) {
    const cost = { plain: 0, filtered: 0 };
    const order = round % 2 === 0 ? (['plain', 'filtered'] as const) : (['filtered', 'plain'] as const);
    for (const way of order) {
      dropsBookmarks = way === 'filtered';
      cost[way] = await turn(bytes, together, events);
    }
    if (round >= FIRST_TURNS) costs.push(cost);
  }
  const plain = spreadOf(costs.map((cost) => cost.plain));
  const filtered = spreadOf(costs.map((cost) => cost.filtered));
  const ratio = spreadOf(costs.map((cost) => cost.filtered / cost.plain));
  console.log(name, { plain, filtered, ratio });
}
ends.kill();
await server.close();
await adapter.destroy();
