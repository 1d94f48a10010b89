/** Rates that processes share in a real Redis: how much they admit together, and what its faults change. */

import fc from 'fast-check';
import t, { type Test } from 'tap';
import { createRedisStore, type RedisStoreOptions } from '../../src/cache/redis.ts';
import type { RatesConfiguration } from '../../src/config/limits-configuration.ts';
import { TOKEN_LIFE, takeTokens } from '../../src/features/rates/token-script.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { eventually } from '../support/eventually.ts';
import { runTokenScript } from '../support/rates/memory-accounts.ts';
import { createRatesSite } from '../support/rates/processes.ts';
import { type Read, recordedTelemetry } from '../support/recorded-telemetry.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

/** Nothing is refilled during a test. */
const SLOW = { perSecond: 0.0001, burst: 90 };
const TENANT = '{acme}';
const KEYS = [TENANT, `${TENANT}:alice`];

async function startRedis(t: Pick<Test, 'teardown'>, ...configuration: string[]) {
  const server = await createRedisServer({ configuration });
  t.teardown(() => server.remove());
  return server;
}

async function connect(t: Pick<Test, 'teardown'>, url: string, options: Partial<RedisStoreOptions> = {}) {
  const store = createRedisStore({
    ...{ url, timeout: 10_000, keyPrefix: 'stonegate:', sentinels: [], cluster: false },
    ...{ clock: systemClock, logger: silentLogger, telemetry: noTelemetry },
    ...options,
  });
  t.teardown(() => store.close());
  await store.whenReady(10_000);
  return store;
}

/** Processes with one connection each. */
async function startProcesses(
  t: Pick<Test, 'teardown'>,
  url: string,
  {
    rates = { perTenant: SLOW },
    timeout = 10_000,
    logger = silentLogger,
  }: { rates?: Partial<RatesConfiguration>; timeout?: number; logger?: Logger } = {},
) {
  const { create, ask } = createRatesSite({ rates, processes: 3 });
  const keysOf = (tenant: string, user: string) => ({ tenant: `{${tenant}}`, user: `{${tenant}}:${user}` });
  const lost = new Set<Read>();
  const processes = await Promise.all(
    [1, 2, 3].map(async () => {
      const store = await connect(t, url, { timeout });
      const telemetry = recordedTelemetry([], new Map(), lost);
      const process = create(
        { processes: 3 },
        { clock: systemClock, logger, telemetry, shared: { store, keysOf } },
      );
      process.start();
      return process;
    }),
  );
  /** Asks all processes in turn. @returns how many requests were admitted */
  const admitted = async (requests: number) => {
    const asked = Array.from({ length: requests }, (_, at) => ask(undefined, { by: processes[at % 3] }));
    return (await Promise.all(asked)).filter((error) => error === undefined).length;
  };
  /** Asks until every process has a response from Redis. @returns how many requests were admitted */
  const untilBack = async () => {
    let sum = 0;
    await eventually(async () => {
      sum += await admitted(3);
      return ![...lost].some((read) => read() === 1);
    });
    return sum;
  };
  return { admitted, untilBack };
}

function defineTests() {
  t.test('D529 the Redis script decides as its model in the property tests', async (t) => {
    const server = await startRedis(t);
    const store = await connect(t, server.url);
    const debts = fc.tuple(fc.nat({ max: 90 }), fc.nat({ max: 90 }));
    const request = fc.record({
      costs: fc.array(fc.constantFrom(1, 2, 5, 10), { maxLength: 8 }),
      wanted: fc.nat({ max: 20 }),
      held: fc.nat({ max: 5 }),
      owed: fc.nat({ max: 5 }),
      owedFor: fc.nat({ max: 5_000_000 }),
    });
    const rates = [
      { perSecond: 0.001, burst: 20 },
      { perSecond: 0.002, burst: 30 },
    ];
    const intervals = rates.flatMap(({ perSecond, burst }) => [1_000_000 / perSecond, burst]);
    await fc.assert(
      fc.asyncProperty(debts, request, async (given, asked) => {
        // Time passes between the two, but far less than one token takes.
        const now = Date.now() * 1_000;
        const seeded = given.map((tokens, at) => now + (tokens - 0.5) * (intervals[2 * at] ?? 0));
        for (const [at, key] of KEYS.entries()) await server.command('SET', key, `${seeded[at]}`);
        const model = new Map(KEYS.map((key, at) => [key, seeded[at] ?? 0]));
        const values = [
          TOKEN_LIFE * 1_000,
          asked.owed,
          asked.owedFor * 1_000,
          asked.held,
          asked.wanted,
          ...intervals,
          ...asked.costs,
        ];
        const [available = 0, extra = 0, garbage, ...left] = runTokenScript(model, now, KEYS, values);
        const reply = await takeTokens(store, KEYS, rates, asked);
        t.match(reply, { available, extra: extra < 0 ? undefined : extra, garbage });
        for (const [at, microseconds] of left.entries()) {
          const tokens = microseconds / (intervals[2 * at] ?? 1);
          t.ok(Math.abs(tokens - (reply?.debts[at] ?? Number.NaN)) < 0.1, `${tokens} are missing`);
        }
      }),
    );
  });

  t.test(
    'D509 an unreadable account is replaced and logged, and none is blocked for longer than one refill',
    async (t) => {
      const server = await startRedis(t);
      const warnings: string[] = [];
      const logger: Logger = { ...silentLogger, warn: (_fields, message) => warnings.push(message) };
      const { admitted } = await startProcesses(t, server.url, { logger });
      await server.command('SET', TENANT, 'garbage');
      t.equal(await admitted(600), 90);
      await server.command('DEL', TENANT);
      await server.command('LPUSH', TENANT, 'garbage');
      const others = await startProcesses(t, server.url, { logger });
      t.equal(await others.admitted(600), 90);
      t.ok(warnings.length > 0);
      t.match(warnings[0], /unreadable/);

      const store = await connect(t, server.url);
      await server.command('SET', TENANT, '9'.repeat(40));
      const grant = await takeTokens(store, [TENANT], [{ perSecond: 1, burst: 90 }], {
        ...{ costs: [1], wanted: 0, held: 0, owed: 0, owedFor: 0 },
      });
      t.same(grant?.debts, [90], 'after a clock was set back by years, the debt is one full account');
    },
  );

  t.test('the key of an account expires when the account is full again', async (t) => {
    const server = await startRedis(t);
    const store = await connect(t, server.url);
    const rates = [{ perSecond: 1, burst: 90 }];
    await takeTokens(store, [TENANT], rates, { costs: [60], wanted: 0, held: 0, owed: 0, owedFor: 0 });
    const life = Number(await server.command('PTTL', TENANT));
    t.ok(life > 0 && life <= 60_000, `${life} ms`);
  });

  t.test('D511 while Redis refuses commands, every process admits its share', async (t) => {
    const unassigned = await startRedis(t, 'cluster-enabled yes');
    const ofCluster = await startProcesses(t, unassigned.url);
    t.equal(await ofCluster.admitted(600), 90, 'CLUSTERDOWN');

    const replica = await startRedis(t, 'replicaof 127.0.0.1 1');
    const ofReplica = await startProcesses(t, replica.url);
    t.equal(await ofReplica.admitted(600), 90, 'READONLY');
  });

  t.test('a Redis Cluster has the accounts of a tenant and its users in one slot', async (t) => {
    const server = await createRedisServer({
      tcp: true,
      configuration: ['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1'],
    });
    t.teardown(() => server.remove());
    await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => /cluster_state:ok/.test(String(await server.command('CLUSTER', 'INFO'))));
    const store = await connect(t, server.url, { cluster: true });
    const asked = { costs: [1], wanted: 0, held: 0, owed: 0, owedFor: 0 };
    t.match(await takeTokens(store, KEYS, [SLOW, SLOW], asked), { available: 90 });
    t.match(await takeTokens(store, KEYS, [SLOW, SLOW], asked), { available: 89 });
  });
}
