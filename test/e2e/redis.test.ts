/** Replicas that share a real Redis: what they share, what a drop does, and how they survive its faults. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { startRelay } from '../support/high-availability/relay.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { startReplica } from '../support/stonegate.ts';
import { runStonegate } from '../support/stonegate-process.ts';
import { startTestbed } from '../support/testbed.ts';

const NAMESPACES = '/api/v1/namespaces';
const MASTER = 'identities';
const REDIS_URL = 'STONEGATE_TEST_REDIS';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

async function startRedis(t: Test, configuration: readonly string[] = [], sentinel = false) {
  const redis = await createRedisServer({ tcp: true, configuration, sentinel });
  t.teardown(() => redis.remove());
  return {
    ...redis,
    /** Names of the cached entries. */
    entries: async () => {
      const names = await redis.command('KEYS', 'stonegate:entry:*');
      return Array.isArray(names) ? names.map(String) : [];
    },
    /** @returns the name of the last one */
    untilEntries: async (count: number) => {
      let names: string[] = [];
      await eventually(async () => {
        names = await redis.command('KEYS', 'stonegate:entry:*').then((found) => [found].flat().map(String));
        return names.length === count;
      });
      return names.at(-1) ?? '';
    },
  };
}

/** Redis' URL is in an environment variable, so that each replica has its own. */
async function setUp(t: Test, redis: object = {}) {
  const configuration = {
    cache: {
      redis: { url: { fromEnv: REDIS_URL }, timeout: '5s', ...redis },
      sealingKeys: [{ fromFile: 'cache.key' }],
    },
    limits: { unknownCredentials: { perSource: { perSecond: 10_000, burst: 10_000 } } },
  };
  // No entry is refreshed during a test.
  const keystoneConfiguration = { cacheTTL: '1h' };
  const testbed = await startTestbed(t, { configuration, keystoneConfiguration });
  const { apiServer, keystone, keystoneToken, configFile } = testbed;
  return {
    ...testbed,
    configuration,
    alice: keystoneToken('alice'),
    bob: keystoneToken('bob'),
    newToken: () => keystoneToken('alice'),
    async startReplica(url: string) {
      const { app, ask, logged } = await startReplica(t, testbed, { [REDIS_URL]: url });
      await eventually(async () => /backend="keystone",result="ok"/.test(await app.metrics.text()));
      const says = (part: string) => logged.join('').includes(part);
      return {
        app,
        says,
        status: async (token: string) => (await ask(token, NAMESPACES)).status,
        untilSaid: (part: string) => eventually(() => says(part)),
        /** Empties the cache in memory, so that entries are looked up in Redis. */
        forget: () => app.reload(),
      };
    },
    validations: () => keystone.calls.filter((call) => call === 'GET /v3/auth/tokens').length,
    lastUser: () => apiServer.requests.findLast(({ url }) => url.includes('/namespaces'))?.user?.username,
    drop: (url: string, ...words: string[]) => {
      process.env[REDIS_URL] = url;
      return runStonegate('cache', 'drop', ...words, '--config', configFile);
    },
  };
}

/** With two replicas and one Redis. */
async function setUpTwo(t: Test, cache: object = {}) {
  const redis = await startRedis(t);
  const site = await setUp(t, cache);
  const [first, second] = [await site.startReplica(redis.url), await site.startReplica(redis.url)];
  return {
    ...site,
    redis,
    first,
    second,
    replicas: [first, second],
    startReplica: () => site.startReplica(redis.url),
    drop: (...words: string[]) => site.drop(redis.url, ...words),
  };
}

function defineTests() {
  t.test('a new URL of Redis is used after a reload, without a restart', async (t) => {
    const redis = await startRedis(t);
    const { startReplica, newToken } = await setUp(t, { url: { fromFile: 'redis-url' } });
    const file = join(t.testdirName, 'redis-url');
    await writeFile(file, redis.url);
    const { app, status } = await startReplica('');
    await writeFile(file, `${redis.url}/1`);
    await app.reload();
    await eventually(async () => {
      await status(newToken());
      return String(await redis.command('INFO', 'keyspace')).includes('db1:');
    });
  });

  t.test(
    '`cache drop` of a user, by name or id, or of a tenant removes what all replicas have cached',
    async (t) => {
      const { replicas, alice, bob, newToken, keystone, drop } = await setUpTwo(t);
      const later = newToken();
      for (const { status } of replicas)
        for (const token of [alice, later, bob]) t.equal(await status(token), 200);
      for (const token of [alice, later, bob]) keystone.revoke(token);
      for (const { status } of replicas) t.equal(await status(alice), 200, 'it is cached');
      t.match(await drop('--user', 'acme:alice'), { code: 0, stdout: /is no longer used/, stderr: '' });
      for (const { status } of replicas) {
        await eventually(async () => (await status(alice)) === 401);
        t.equal(await status(bob), 200, 'no other user is affected');
      }
      const again = newToken();
      t.equal(await replicas[0]?.status(again), 200);
      keystone.revoke(again);
      t.equal((await drop('--user', keystone.directory.user('acme', 'alice').id)).code, 0);
      await eventually(async () => (await replicas[0]?.status(again)) === 401);
      t.equal((await drop('--tenant', 'globex')).code, 0);
      for (const { status } of replicas) await eventually(async () => (await status(bob)) === 401);
    },
  );

  t.test('forged entries of every kind are ignored', async (t) => {
    const { redis, first, second, alice, lastUser, validations } = await setUpTwo(t);
    t.equal(await first.status(alice), 200);
    const name = await redis.untilEntries(1);
    for (const [command = '', ...words] of [
      ['SET', name, '{"value":"{}","storedAt":0,"credentialExpiresAt":9e15,"discardAt":9e15,"epochs":{}}'],
      ['SETRANGE', name, '20', 'tampered'],
      ['SETRANGE', name, '100000000', 'x'],
      ['RPUSH', name, 'a', 'list'],
    ]) {
      await redis.command('DEL', name);
      await redis.command(command, ...words);
      await second.forget();
      const before = validations();
      t.equal(await second.status(alice), 200);
      t.equal(lastUser(), 'acme:alice');
      t.equal(validations(), before + 1, 'Keystone is asked instead');
    }
  });

  t.test('Redis is full: requests continue, and the log says why nothing is shared', async (t) => {
    const { redis, first, second, newToken } = await setUpTwo(t);
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    for (let n = 0; n < 3; n += 1) t.equal(await first.status(newToken()), 200);
    await first.untilSaid('Redis refuses a command');
    t.equal(await second.status(newToken()), 200);
  });

  t.test(
    'Redis is restarted empty: users stay cached in memory, and new ones are shared again',
    async (t) => {
      const { redis, first, alice, bob, keystone, keystoneToken, validations, drop, startReplica } =
        await setUpTwo(t);
      for (const token of [alice, bob]) t.equal(await first.status(token), 200);
      await redis.untilEntries(2);
      keystone.revoke(alice);
      t.equal((await drop('--user', 'acme:alice')).code, 0);
      await eventually(async () => (await first.status(alice)) === 401);

      await redis.stop();
      await first.untilSaid('Redis does not answer');
      await redis.start();
      await first.untilSaid('Redis answers again');
      const before = validations();
      t.equal(await first.status(bob), 200);
      t.equal(validations(), before, 'a token that is cached in memory is not validated again');
      t.equal(await first.status(alice), 401, 'an earlier drop still applies');
      const late = keystoneToken('bob');
      t.equal(await first.status(late), 200);
      await redis.untilEntries(1);
      t.equal(await (await startReplica()).status(late), 200);
      t.equal(validations(), before + 1, 'a new token is validated once for both');
    },
  );

  t.test(
    'a replica that is partitioned from Redis continues to serve, and learns of drops afterwards',
    async (t) => {
      const redis = await startRedis(t);
      const relay = await startRelay(t, redis.port);
      const { startReplica, alice, keystone, keystoneToken, drop } = await setUp(t, { timeout: '500ms' });
      const connected = await startReplica(redis.url);
      const partitioned = await startReplica(`redis://127.0.0.1:${relay.port}`);
      for (const { status } of [connected, partitioned]) t.equal(await status(alice), 200);
      relay.cut();
      await partitioned.untilSaid('Redis does not answer');
      keystone.revoke(alice);
      t.equal((await drop(redis.url, '--user', 'acme:alice')).code, 0);
      await eventually(async () => (await connected.status(alice)) === 401);
      t.equal(await partitioned.status(alice), 200, 'what it has cached is used until it expires');
      t.equal(await partitioned.status(keystoneToken('bob')), 200, 'it validates new tokens itself');
      relay.heal();
      await eventually(async () => (await partitioned.status(alice)) === 401);
      t.equal(await partitioned.status(keystoneToken('bob')), 200);
    },
  );

  t.test('a Sentinel failover: no request fails, and replicas share again', async (t) => {
    const primary = await startRedis(t);
    const standby = await startRedis(t, [`replicaof 127.0.0.1 ${primary.port}`]);
    await eventually(async () => /master_link_status:up/.test(String(await standby.command('INFO'))));
    const options = [
      `sentinel monitor ${MASTER} 127.0.0.1 ${primary.port} 1`,
      `sentinel down-after-milliseconds ${MASTER} 300`,
      `sentinel failover-timeout ${MASTER} 2000`,
    ];
    const sentinel = await startRedis(t, options, true);
    await eventually(async () =>
      String(await sentinel.command('SENTINEL', 'REPLICAS', MASTER)).includes('slave'),
    );
    const { startReplica, alice, keystone, keystoneToken, drop } = await setUp(t, {
      sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
      sentinelName: MASTER,
      timeout: '500ms',
    });
    const url = 'redis://sentinel:1/0';
    const replicas = [await startReplica(url), await startReplica(url)];
    for (const { status } of replicas) t.equal(await status(alice), 200);
    await standby.untilEntries(1);
    await primary.stop();
    const statuses = new Set<number>();
    await eventually(async () => {
      for (const { status } of replicas)
        for (const token of [alice, keystoneToken('bob')]) statuses.add(await status(token));
      return String(await standby.command('ROLE')).startsWith('master');
    });
    t.same(statuses, new Set([200]));
    keystone.revoke(alice);
    await eventually(async () => (await drop(url, '--user', 'acme:alice')).code === 0);
    for (const { status } of replicas) await eventually(async () => (await status(alice)) === 401);
  });
}
