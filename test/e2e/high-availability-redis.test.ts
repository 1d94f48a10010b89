/**
 * Two replicas and the failures of their Redis: what each costs users. `cache-redis.test.ts` has a Redis that
 * is killed, hangs or is full.
 */
import t, { type Test } from 'tap';
import { createApp } from '../../src/app/app.ts';
import { loadConfiguration, systemSources } from '../../src/config/load.ts';
import { createLogger } from '../../src/observability/log.ts';
import { eventually } from '../support/eventually.ts';
import { type Relay, startRelay } from '../support/high-availability/relay.ts';
import { askOnce } from '../support/open-request.ts';
import { createRedisServer, type RedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { runStonegate } from '../support/stonegate-process.ts';
import { createTestbed, type Testbed } from '../support/testbed.ts';

const NAMESPACES = '/api/v1/namespaces';
const MASTER = 'identities';
const REDIS_URL = 'STONEGATE_TEST_REDIS';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

interface SetUp {
  /** Of `cache.redis`, besides the URL. */
  readonly redis?: object;
}

/** A testbed and its configuration; Redis' URL is in an environment variable, so each replica has its own. */
async function setUp(t: Test, { redis = {} }: SetUp = {}) {
  const configuration = {
    cache: {
      redis: { url: { fromEnv: REDIS_URL }, timeout: '5s', ...redis },
      sealingKeys: [{ fromFile: 'cache.key' }],
    },
    limits: { unknownCredentials: { perSource: { perSecond: 10_000, burst: 10_000 } } },
  };
  // No entry is refreshed during a test.
  const keystoneConfiguration = { cacheTTL: '1h' };
  const testbed = await createTestbed({ folder: t.testdir(), configuration, keystoneConfiguration });
  t.teardown(() => testbed.close());
  return {
    ...testbed,
    configuration,
    /** @param url as this replica reaches Redis */
    startReplica: (url: string) => startReplica(t, testbed, url),
    validations: () => testbed.keystone.calls.filter((call) => call === 'GET /v3/auth/tokens').length,
    drop: (url: string, ...words: string[]) => {
      process.env[REDIS_URL] = url;
      return runStonegate('cache', 'drop', ...words, '--config', testbed.configFile);
    },
  };
}

async function startReplica(t: Test, { configFile, authority }: Testbed, url: string) {
  const sources = { ...systemSources, env: { [REDIS_URL]: url } };
  const result = await loadConfiguration(configFile, sources);
  if (!result.ok) throw new Error('the configuration is bad');
  const logged: string[] = [];
  const logger = createLogger('debug', { write: (line) => logged.push(line) });
  const app = await createApp({ file: configFile, ...result, sources, logger });
  t.teardown(() => app.close());
  const destination = { port: app.address.port, ca: authority.cert };
  await eventually(async () => /backend="keystone",result="ok"/.test(await app.metrics.text()));
  return {
    says: (part: string) => logged.join('').includes(part),
    status: async (token: string) => (await askOnce(destination, token, NAMESPACES)).status,
  };
}

const entriesOf = async (redis: RedisServer): Promise<number> => {
  const names = await redis.command('KEYS', 'stonegate:entry:*');
  return Array.isArray(names) ? names.length : 0;
};

async function startRedis(t: Test, configuration: readonly string[] = []): Promise<RedisServer> {
  const redis = await createRedisServer({ tcp: true, configuration });
  t.teardown(() => redis.remove());
  return redis;
}

async function startRelayTo(t: Test, { port }: RedisServer): Promise<Relay & { readonly url: string }> {
  const relay = await startRelay(t, port);
  return Object.assign(relay, { url: `redis://127.0.0.1:${relay.port}` });
}

function defineTests(): void {
  t.test('Redis is restarted empty: users stay known, and are shared again', async (t) => {
    const { startReplica, keystoneToken, keystone, validations, drop } = await setUp(t);
    const redis = await startRedis(t);
    const one = await startReplica(redis.url);
    const [alice, bob] = [keystoneToken('alice'), keystoneToken('bob')];
    for (const token of [alice, bob]) t.equal(await one.status(token), 200);
    await eventually(async () => (await entriesOf(redis)) === 2);
    keystone.revoke(alice);
    t.equal((await drop(redis.url, '--user', 'acme:alice')).code, 0);
    await eventually(async () => (await one.status(alice)) === 401);

    await redis.stop();
    await eventually(() => one.says('Redis does not answer'));
    await redis.start();
    await eventually(() => one.says('Redis answers again'));
    const before = validations();
    t.equal(await one.status(bob), 200);
    t.equal(validations(), before, 'who is known in memory is not validated again');
    t.equal(await one.status(alice), 401, 'a drop from before still counts');
    const two = await startReplica(redis.url);
    const late = keystoneToken('bob');
    t.equal(await one.status(late), 200);
    await eventually(async () => (await entriesOf(redis)) === 1);
    t.equal(await two.status(late), 200);
    t.equal(validations(), before + 1, 'a new token is validated once for both');
  });

  t.test('a rollout that changes other settings validates no token again', async (t) => {
    const { startReplica, keystoneToken, validations, configure, configuration } = await setUp(t);
    const redis = await startRedis(t);
    const before = await startReplica(redis.url);
    const alice = keystoneToken('alice');
    t.equal(await before.status(alice), 200);
    await eventually(async () => (await entriesOf(redis)) === 1);
    const validated = validations();
    await configure({ ...configuration, log: { level: 'warn' } });
    const after = await startReplica(redis.url);
    t.equal(await after.status(alice), 200);
    t.equal(validations(), validated);
  });

  t.test('a slow Redis: requests wait no longer than cache.redis.timeout for it', async (t) => {
    const { startReplica, keystoneToken, validations } = await setUp(t, { redis: { timeout: '50ms' } });
    const relay = await startRelayTo(t, await startRedis(t));
    const replica = await startReplica(relay.url);
    t.equal(await replica.status(keystoneToken('alice')), 200);
    relay.delay = 600_000;
    const token = keystoneToken('alice');
    const before = validations();
    t.equal(await replica.status(token), 200);
    t.equal(validations(), before + 1, 'Keystone is asked instead');
    t.ok(replica.says('Redis does not answer'));
  });

  t.test('one replica is partitioned from Redis: it serves on, and learns of drops afterwards', async (t) => {
    const { startReplica, keystoneToken, keystone, drop } = await setUp(t, { redis: { timeout: '500ms' } });
    const redis = await startRedis(t);
    const relay = await startRelayTo(t, redis);
    const connected = await startReplica(redis.url);
    const partitioned = await startReplica(relay.url);
    const alice = keystoneToken('alice');
    for (const { status } of [connected, partitioned]) t.equal(await status(alice), 200);

    relay.cut();
    await eventually(() => partitioned.says('Redis does not answer'));
    keystone.revoke(alice);
    t.equal((await drop(redis.url, '--user', 'acme:alice')).code, 0);
    await eventually(async () => (await connected.status(alice)) === 401);
    t.equal(await partitioned.status(alice), 200, 'what it has cached counts until it expires');
    t.equal(await partitioned.status(keystoneToken('bob')), 200, 'new tokens are validated by itself');

    relay.heal();
    await eventually(async () => (await partitioned.status(alice)) === 401);
    t.equal(await partitioned.status(keystoneToken('bob')), 200);
  });

  t.test('a Sentinel failover: no request fails, and replicas share again', async (t) => {
    const primary = await startRedis(t);
    const standby = await startRedis(t, [`replicaof 127.0.0.1 ${primary.port}`]);
    await eventually(async () => /master_link_status:up/.test(String(await standby.command('INFO'))));
    const sentinel = await createRedisServer({
      tcp: true,
      sentinel: true,
      configuration: [
        `sentinel monitor ${MASTER} 127.0.0.1 ${primary.port} 1`,
        `sentinel down-after-milliseconds ${MASTER} 300`,
        `sentinel failover-timeout ${MASTER} 2000`,
      ],
    });
    t.teardown(() => sentinel.remove());
    await eventually(async () =>
      String(await sentinel.command('SENTINEL', 'REPLICAS', MASTER)).includes('slave'),
    );
    const { startReplica, keystoneToken, keystone, drop } = await setUp(t, {
      redis: {
        sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
        sentinelName: MASTER,
        timeout: '500ms',
      },
    });
    const url = 'redis://sentinel:1/0';
    const replicas = [await startReplica(url), await startReplica(url)];
    const alice = keystoneToken('alice');
    for (const { status } of replicas) t.equal(await status(alice), 200);
    await eventually(async () => (await entriesOf(standby)) === 1);

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
