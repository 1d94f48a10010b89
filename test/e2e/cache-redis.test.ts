/**
 * Two whole programs that share a real Redis: what they share, what a drop does, and what Redis' faults do
 * not.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createApp } from '../../src/app/app.ts';
import { loadConfiguration, systemSources } from '../../src/config/load.ts';
import { createLogger } from '../../src/observability/log.ts';
import { eventually } from '../support/eventually.ts';
import { askOnce } from '../support/open-request.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { startStonegate } from '../support/stonegate.ts';
import { runStonegate } from '../support/stonegate-process.ts';

const NAMESPACES = '/api/v1/namespaces';
const ENTRIES = 'stonegate:entry:*';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

interface Options {
  /** Of redis.conf. */
  readonly redis?: readonly string[];
  /** Of `cache.redis`; patient by default, since the machine may be busy. */
  readonly timeout?: string;
}

async function setUp(t: Test, { redis: lines = [], timeout = '5s' }: Options = {}) {
  const folder = t.testdir();
  const redis = await createRedisServer({ tcp: true, configuration: lines });
  t.teardown(() => redis.remove());
  await writeFile(join(folder, 'redis-url'), redis.url);
  const cache = {
    redis: { url: { fromFile: 'redis-url' }, timeout },
    sealingKeys: [{ fromFile: 'cache.key' }],
  };
  const limits = { unknownCredentials: { perSource: { perSecond: 10_000, burst: 10_000 } } };
  const first = await startStonegate({ folder, configuration: { cache, limits } });
  t.teardown(() => first.close());
  const { keystone, authority, apiServer, configFile } = first;

  /** Another replica of the same configuration. */
  async function startReplica() {
    const result = await loadConfiguration(configFile, systemSources);
    if (!result.ok) throw new Error('the configuration is bad');
    const { loaded, watched } = result;
    const logged: string[] = [];
    const logger = createLogger('debug', { write: (line) => logged.push(line) });
    const app = await createApp({ file: configFile, loaded, watched, sources: systemSources, logger });
    t.teardown(() => app.close());
    const destination = { port: app.address.port, ca: authority.cert };
    await eventually(async () => /backend="keystone",result="ok"/.test(await app.metrics.text()));
    return { app, logged, ask: (token: string) => askOnce(destination, token, NAMESPACES) };
  }
  await eventually(async () => /backend="keystone",result="ok"/.test(await first.app.metrics.text()));
  const second = await startReplica();
  return {
    redis,
    keystone,
    alice: first.keystoneToken('alice'),
    bob: first.keystoneToken('bob'),
    newToken: () => first.keystoneToken('alice'),
    first: { app: first.app, logged: first.logged, ask: (token: string) => first.ask(token, NAMESPACES) },
    second,
    startReplica,
    drop: (...words: string[]) => runStonegate('cache', 'drop', ...words, '--config', configFile),
    entries: async (): Promise<string[]> => {
      const names = await redis.command('KEYS', ENTRIES);
      return Array.isArray(names) ? names.map(String) : [];
    },
    validations: () => keystone.calls.filter((call) => call === 'GET /v3/auth/tokens').length,
    lastUser: () => apiServer.requests.findLast(({ url }) => url.includes('/namespaces'))?.user?.username,
  };
}

type Replica = Awaited<ReturnType<typeof setUp>>['second'];

/** What the process keeps in memory is gone; what Redis has is looked for. */
async function forget({ app }: Pick<Replica, 'app'>): Promise<void> {
  await app.reload();
}

function defineTests(): void {
  t.test('a new URL of Redis is used after a reload, without a restart', async (t) => {
    const { redis, first, newToken } = await setUp(t);
    await writeFile(join(t.testdirName, 'redis-url'), `${redis.url}/1`);
    await first.app.reload();
    await eventually(async () => {
      await first.ask(newToken());
      return String(await redis.command('INFO', 'keyspace')).includes('db1:');
    });
  });

  t.test('what one replica has cached, the other uses', async (t) => {
    const { first, second, alice, validations, entries } = await setUp(t);
    t.equal((await first.ask(alice)).status, 200);
    await eventually(async () => (await entries()).length === 1);
    t.equal((await second.ask(alice)).status, 200);
    t.equal(validations(), 1);
    t.notOk((await entries()).join().includes(alice), 'no token is the name of an entry');
  });

  t.test('`cache drop --user` ends what is cached of a user, in all replicas', async (t) => {
    const { first, second, alice, bob, keystone, drop } = await setUp(t);
    for (const { ask } of [first, second]) {
      t.equal((await ask(alice)).status, 200);
      t.equal((await ask(bob)).status, 200);
    }
    keystone.revoke(alice);
    keystone.revoke(bob);
    for (const { ask } of [first, second]) t.equal((await ask(alice)).status, 200, 'it is cached');
    t.match(await drop('--user', 'acme:alice'), { code: 0, stdout: /counts no more/, stderr: '' });
    for (const { ask } of [first, second]) {
      await eventually(async () => (await ask(alice)).status === 401);
      t.equal((await ask(bob)).status, 200, 'no other user is affected');
    }
  });

  t.test("`cache drop --user` takes Keystone's id as well, `--tenant` a whole tenant", async (t) => {
    const { first, second, alice, bob, keystone, drop } = await setUp(t);
    for (const token of [alice, bob]) t.equal((await first.ask(token)).status, 200);
    keystone.revoke(alice);
    keystone.revoke(bob);
    const id = keystone.directory.user('acme', 'alice').id;
    t.equal((await drop('--user', id)).code, 0);
    await eventually(async () => (await first.ask(alice)).status === 401);
    t.equal((await first.ask(bob)).status, 200);
    t.equal((await drop('--tenant', 'globex')).code, 0);
    for (const { ask } of [first, second]) await eventually(async () => (await ask(bob)).status === 401);
  });

  t.test(
    'an old entry written back after a drop is worth nothing, to old replicas and new ones',
    async (t) => {
      const { redis, first, second, startReplica, alice, keystone, drop, entries } = await setUp(t);
      t.equal((await first.ask(alice)).status, 200);
      await eventually(async () => (await entries()).length === 1);
      const [entry = ''] = await entries();
      await redis.command('COPY', entry, 'kept-by-somebody');
      keystone.revoke(alice);
      t.equal((await drop('--user', 'acme:alice')).code, 0);
      await eventually(async () => (await first.ask(alice)).status === 401);

      await redis.command('COPY', 'kept-by-somebody', entry, 'REPLACE');
      const late = await startReplica();
      for (const replica of [first, second, late]) {
        await forget(replica);
        t.equal((await replica.ask(alice)).status, 401);
      }
    },
  );

  t.test("an entry copied to another token's key does not change a user's identity", async (t) => {
    const { redis, first, second, alice, bob, entries, lastUser } = await setUp(t);
    t.equal((await first.ask(bob)).status, 200);
    await eventually(async () => (await entries()).length === 1);
    const [ofBob = ''] = await entries();
    t.equal((await first.ask(alice)).status, 200);
    await eventually(async () => (await entries()).length === 2);
    const ofAlice = (await entries()).find((name) => name !== ofBob) ?? '';
    await redis.command('COPY', ofAlice, ofBob, 'REPLACE');
    t.equal((await second.ask(bob)).status, 200);
    t.equal(lastUser(), 'globex:bob');
    t.match(second.logged.join(''), 'an entry in Redis does not open');
  });

  t.test('forged entries of every kind are no entries', async (t) => {
    const { redis, first, second, alice, entries, lastUser, validations } = await setUp(t);
    t.equal((await first.ask(alice)).status, 200);
    await eventually(async () => (await entries()).length === 1);
    const [name = ''] = await entries();
    const forgeries = [
      ['SET', name, ''],
      ['SET', name, '{"value":"{}","storedAt":0,"credentialExpiresAt":9e15,"discardAt":9e15,"epochs":{}}'],
      ['SET', name, 'x'.repeat(1024 * 1024)],
      ['SETRANGE', name, '20', 'tampered'],
      ['RPUSH', name, 'a', 'list'],
    ];
    for (const [command = '', ...words] of forgeries) {
      await redis.command('DEL', name);
      await redis.command(command, ...words);
      await forget(second);
      const before = validations();
      t.equal((await second.ask(alice)).status, 200);
      t.equal(lastUser(), 'acme:alice');
      t.equal(validations(), before + 1, 'Keystone is asked instead');
    }
  });

  t.test('Redis is stopped and started under load: no request fails, and it is used again', async (t) => {
    const { redis, first, second, newToken, alice } = await setUp(t, { timeout: '50ms' });
    const statuses = new Set<number>();
    let asking = true;
    const load = [first, second].flatMap(({ ask }) =>
      [() => alice, newToken].map(async (token) => {
        while (asking) statuses.add((await ask(token())).status);
      }),
    );
    const says = (part: string) => () => first.logged.join('').includes(part);
    statuses.add((await first.ask(alice)).status);
    await redis.stop();
    await eventually(says('Redis does not answer'));
    await redis.start();
    await eventually(says('Redis answers again'));
    asking = false;
    await Promise.all(load);
    t.same(statuses, new Set([200]));
    await eventually(async () => {
      const token = newToken();
      await first.ask(token);
      await second.ask(token);
      return /cache_lookups_total\{tier="redis",result="hit"\} [1-9]/.test(await second.app.metrics.text());
    });
  });

  t.test('Redis hangs: requests continue without it, cached or not', async (t) => {
    const { redis, first, alice, newToken } = await setUp(t, { timeout: '50ms' });
    t.equal((await first.ask(alice)).status, 200);
    redis.freeze();
    t.teardown(() => redis.thaw());
    t.equal((await first.ask(alice)).status, 200);
    for (let n = 0; n < 5; n += 1) t.equal((await first.ask(newToken())).status, 200);
    t.match(first.logged.join(''), 'Redis does not answer');
    redis.thaw();
    const statuses = new Set<number>();
    await eventually(async () => {
      statuses.add((await first.ask(newToken())).status);
      return first.logged.join('').includes('Redis answers again');
    });
    t.same(statuses, new Set([200]));
  });

  t.test('Redis is full: requests continue, and the log says why nothing is shared', async (t) => {
    const { redis, first, second, newToken } = await setUp(t);
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    for (let n = 0; n < 3; n += 1) t.equal((await first.ask(newToken())).status, 200);
    await eventually(() => first.logged.join('').includes('Redis refuses a command'));
    t.equal((await second.ask(newToken())).status, 200);
  });

  t.test('a drop while Redis is away fails loudly; one that a replica missed is made up for', async (t) => {
    const { redis, first, second, alice, keystone, drop } = await setUp(t);
    t.equal((await second.ask(alice)).status, 200);
    t.equal((await first.ask(alice)).status, 200);
    keystone.revoke(alice);
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    t.equal((await drop('--user', 'acme:alice')).code, 0);
    for (const { ask } of [first, second]) await eventually(async () => (await ask(alice)).status === 401);
    await redis.stop();
    t.match(await drop('--user', 'acme:alice'), { code: 1, stderr: /Redis does not answer/ });
  });
}
