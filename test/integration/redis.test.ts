/** The shared cache on a real Redis: faults, forgeries and drops. */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { createRedisStore, type RedisStoreOptions } from '../../src/cache/redis.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { noTelemetry, type Telemetry } from '../../src/lib/telemetry.ts';
import { eventually } from '../support/eventually.ts';
import { createRedisServer, type RedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { createBackend, createReplica, type ReplicaOptions } from '../support/redis/replica.ts';

const missing = redisMissing();
if (missing !== undefined) t.plan(0, missing);
else defineTests();

type Options = Partial<ReplicaOptions> & Partial<RedisStoreOptions>;

/** A server and as many replicas as the test needs, ended with the test. */
async function setUp(t: { teardown(action: () => unknown): void }, server: RedisServer) {
  const backend = createBackend(systemClock);
  t.teardown(() => server.remove());

  function replica(options: Options = {}) {
    const problems: unknown[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => problems.push(fields.problem) };
    const store = createRedisStore({
      url: server.url,
      timeout: 2_000,
      keyPrefix: 'stonegate:',
      sentinels: [],
      cluster: false,
      clock: systemClock,
      logger,
      telemetry: noTelemetry,
      ...options,
    });
    t.teardown(() => store.close());
    const { cache, shared } = createReplica({ store, clock: systemClock, logger, ...options });
    const lookup = async (token: string) => (await cache.lookup(token, backend.load))?.name;
    return { store, cache, shared, lookup, problems };
  }

  /** A replica that is connected. */
  async function ready(options: Options = {}) {
    const made = replica(options);
    await made.store.whenReady(10_000);
    return made;
  }

  const entries = async () => {
    const names = await server.command('KEYS', 'stonegate:entry:*');
    return Array.isArray(names) ? names.map(String) : [];
  };

  return { backend, replica, ready, entries };
}

function defineTests() {
  t.test(
    'a response that arrives in time is used, even if the process was too busy to read it',
    async (t) => {
      const server = await createRedisServer();
      const { ready } = await setUp(t, server);
      const { store, problems } = await ready({ timeout: 100 });
      const answered = store.set('stonegate:entry:busy', Buffer.from('value'), 60_000);
      // This process is blocked until Redis has responded and the timeout is over.
      const asked = ['-s', server.url.replace('unix://', ''), 'EXISTS', 'stonegate:entry:busy'];
      while (String(execFileSync('redis-cli', asked)).trim() !== '1');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
      t.equal(await answered, true);
      t.same(problems, [], 'Redis is not considered unavailable');
    },
  );

  t.test('C186 a dump of Redis shows neither credential nor user', async (t) => {
    const server = await createRedisServer();
    const { ready, entries } = await setUp(t, server);
    const { lookup } = await ready();
    await lookup('gAAAAABsecret');
    await eventually(async () => (await entries()).length === 1);
    const [name = ''] = await entries();
    const value = String(await server.command('GET', name));
    t.notMatch(`${name} ${value}`, /secret|alice|acme/);
  });

  t.test('while Redis hangs, requests continue without it, and use it again once it responds', async (t) => {
    const server = await createRedisServer();
    const results: string[] = [];
    const telemetry: Telemetry = { ...noTelemetry, backendCall: (_name, result) => results.push(result) };
    const { ready, entries } = await setUp(t, server);
    const { lookup, store, problems } = await ready({ timeout: 50, telemetry });
    server.freeze();
    t.teardown(() => server.thaw());
    t.equal(await lookup('one'), 'alice');
    t.match(results, ['timeout']);
    t.match(problems, [/no answer within 25 ms/]);
    for (let i = 0; i < 100; i += 1) await lookup(`frozen ${i}`);
    t.ok(results.length < 100, 'not every request asks a Redis that hangs');
    server.thaw();
    let fresh = 0;
    await eventually(async () => {
      fresh += 1;
      await lookup(`thawed ${fresh}`);
      return store.problem() === undefined && (await entries()).length > 0;
    });
  });

  t.test('if Redis was never up, requests continue without it', async (t) => {
    const server = await createRedisServer();
    const { replica } = await setUp(t, server);
    await server.stop();
    const { lookup, store, shared } = replica({ timeout: 50 });
    t.equal(await lookup('one'), 'alice');
    t.equal(await store.whenReady(1), false);
    await t.rejects(shared.drop(['user:alice']), { message: /did not take the drop/ });
  });

  t.test(
    'if Redis refuses the password, requests continue, and the log says why Redis is not used',
    async (t) => {
      const server = await createRedisServer();
      await server.command('CONFIG', 'SET', 'requirepass', 'right');
      const { replica } = await setUp(t, server);
      const { lookup, problems } = replica({ url: server.url.replace('unix://', 'unix://:wrong@host') });
      t.equal(await lookup('one'), 'alice');
      await eventually(() => problems.some((problem) => /WRONGPASS/.test(String(problem))));
      t.notMatch(problems.join(), /right|:wrong/);
    },
  );

  t.test('a drop succeeds even if the record of the previous one was replaced by a list', async (t) => {
    const server = await createRedisServer();
    const { ready } = await setUp(t, server);
    const { shared } = await ready();
    await shared.drop(['user:alice']);
    const [name = ''] = [await server.command('KEYS', 'stonegate:epoch:*')].flat().map(String);
    await server.command('DEL', name);
    await server.command('LPUSH', name, 'x');
    await shared.drop(['user:alice']);
    t.equal(await server.command('TYPE', name), 'string');
  });
}
