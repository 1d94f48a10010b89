/** Three processes with one Redis: what they admit together of a tenant's requests, whatever happens to Redis. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { createHttpsClient, type Reply } from '../support/https-client.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { serveStonegate } from '../support/stonegate-process.ts';
import { createTestbed } from '../support/testbed.ts';

const BUDGET = 60;
const PROCESSES = 3;

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

async function setUp(t: Test) {
  const redis = await createRedisServer({ tcp: true });
  t.teardown(() => redis.remove());
  const folder = t.testdir();
  const testbed = await createTestbed({
    folder,
    keystoneConfiguration: { cacheTTL: '1h' },
    configuration: {
      cache: {
        redis: { url: { fromFile: 'redis-url' }, timeout: '4s' },
        sealingKeys: [{ fromFile: 'cache.key' }],
      },
      limits: {
        // Nothing is refilled during the test.
        perTenant: { perSecond: 0.0001, burst: BUDGET },
        processes: PROCESSES,
      },
    },
  });
  t.teardown(() => testbed.close());
  await writeFile(join(folder, 'redis-url'), redis.url);
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => serveStonegate(testbed.configFile)),
  );
  t.teardown(() => Promise.all(processes.map((process) => process.stop())));
  const clients = processes.map(({ port }) => {
    const client = createHttpsClient({ port, ca: testbed.authority.cert });
    t.teardown(() => client.close());
    return client;
  });
  const tokens = { alice: testbed.keystoneToken('alice'), bob: testbed.keystoneToken('bob') };
  const refused: Reply[] = [];
  return {
    redis,
    refused,
    /** Asks every process as often as all of them together may admit. @returns how many requests they admit */
    async admitted(user: 'alice' | 'bob'): Promise<number> {
      const replies = await Promise.all(
        clients.flatMap(({ ask }) => Array.from({ length: BUDGET }, () => ask(tokens[user], '/version'))),
      );
      refused.push(...replies.filter(({ status }) => status === 429));
      return replies.filter(({ status }) => status === 200).length;
    },
    /** Resolves when every process has, or has no, response of Redis. */
    async untilShares(inForce: 0 | 1): Promise<void> {
      for (const [at, process] of processes.entries())
        await eventually(async () => {
          await clients[at]?.ask(tokens.bob, '/version');
          const { text } = await process.admin('/metrics');
          return text.includes(`stonegate_rate_shares_in_force ${inForce}`);
        });
    },
  };
}

function defineTests(): void {
  t.test('D502, D515: a tenant never has more than its budget at all processes together', async (t) => {
    const { admitted, refused, redis } = await setUp(t);
    const first = await admitted('alice');
    t.ok(first <= BUDGET && first > BUDGET / 2, `${first} were admitted`);
    t.ok(first + (await admitted('alice')) <= BUDGET);
    const [reply] = refused;
    const body = reply?.json();
    t.match(body, { kind: 'Status', code: 429, reason: 'TooManyRequests' });
    t.match(body?.message, 'the tenant "acme" is over its rate of 0.0001 a second (limits.perTenant)');
    t.match(body, { details: { retryAfterSeconds: Number(reply?.headers['retry-after']) } });
    t.ok(await admitted('bob'), 'another tenant is not affected');
    const keys = String(await redis.command('KEYS', 'stonegate:rate:*'));
    t.match(keys, 'stonegate:rate:');
    t.notMatch(keys, /acme|alice|globex|bob/);
  });

  t.test('D510 Redis frozen, thawed, killed, and back empty', async (t) => {
    const { admitted, untilShares, redis } = await setUp(t);
    const before = await admitted('alice');
    t.ok(before <= BUDGET);

    redis.freeze();
    t.teardown(() => redis.thaw());
    t.equal(await admitted('bob'), BUDGET, 'each process admits its share');
    t.equal(await admitted('bob'), 0);

    redis.thaw();
    await untilShares(0);
    const thawed = await admitted('bob');
    t.ok(thawed <= BUDGET, `${thawed} after the thaw`);
    t.equal(await admitted('bob'), 0);

    await redis.stop();
    const without = await admitted('alice');
    t.ok(without <= BUDGET, `${without} without Redis`);
    t.equal(await admitted('alice'), 0);

    await redis.start();
    await untilShares(0);
    const again = await admitted('alice');
    t.ok(again <= BUDGET, `${again} with an empty Redis`);
    t.equal(await admitted('alice'), 0);
  });
}
