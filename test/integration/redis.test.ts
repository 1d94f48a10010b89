/** The shared cache on a real Redis: faults, forgeries and drops. */
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

/** A server and as many replicas as the test wants, ended with the test. */
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

  const entries = async (): Promise<string[]> => {
    const names = await server.command('KEYS', 'stonegate:entry:*');
    return Array.isArray(names) ? names.map(String) : [];
  };

  return { backend, replica, ready, entries };
}

function defineTests(): void {
  t.test('a second replica finds what the first was told, and Redis forgets it in time', async (t) => {
    const server = await createRedisServer();
    const { backend, ready, entries } = await setUp(t, server);
    await (await ready()).lookup('token');
    await eventually(async () => (await entries()).length === 1);
    t.equal(await (await ready()).lookup('token'), 'alice');
    t.equal(backend.asked.length, 1);
    const [name = ''] = await entries();
    const life = Number(await server.command('PTTL', name));
    t.ok(life > 0 && life <= 60_000);
  });

  t.test('a response in time counts, even if the process was too busy to read it', async (t) => {
    const server = await createRedisServer();
    const { ready } = await setUp(t, server);
    const { store, problems } = await ready({ timeout: 100 });
    const answered = store.set('stonegate:entry:busy', Buffer.from('value'), 60_000);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    t.equal(await answered, true);
    t.same(problems, [], 'Redis is not taken to be away');
  });

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

  t.test('Redis stopped and started under load: every request gets its response', async (t) => {
    const server = await createRedisServer();
    const { ready, replica, entries } = await setUp(t, server);
    const { lookup } = await ready();
    let running = true;
    let count = 0;
    const load = (async () => {
      for (; running; count += 1) {
        if ((await lookup(`token ${count % 150}`)) !== 'alice') return 'a wrong answer';
        await new Promise((resolve) => setImmediate(resolve));
      }
      return 'all answered';
    })();
    const more = async (): Promise<void> => {
      const goal = count + 300;
      await eventually(() => count > goal);
    };
    await more();
    await server.stop();
    await more();
    await server.start();
    await more();
    // What is told once Redis is back is shared again.
    let fresh = 0;
    await eventually(async () => {
      fresh += 1;
      await lookup(`new ${fresh}`);
      return (await entries()).length > 0;
    });
    running = false;
    t.equal(await load, 'all answered');
    const other = replica();
    t.equal(await other.store.whenReady(10_000), true);
  });

  t.test('a Redis that hangs: requests continue without it, and with it once it responds', async (t) => {
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

  t.test('a Redis that was never up: requests continue without it', async (t) => {
    const server = await createRedisServer();
    const { replica } = await setUp(t, server);
    await server.stop();
    const { lookup, store, shared } = replica({ timeout: 50 });
    t.equal(await lookup('one'), 'alice');
    t.equal(await store.whenReady(1), false);
    await t.rejects(shared.drop(['user:alice']), { message: /did not take the drop/ });
  });

  t.test('a full Redis: requests continue, and a drop reports its failure', async (t) => {
    const server = await createRedisServer({ configuration: ['maxmemory 1', 'maxmemory-policy noeviction'] });
    const { ready } = await setUp(t, server);
    const { lookup, shared, store } = await ready();
    t.equal(await lookup('one'), 'alice');
    await t.rejects(shared.drop(['user:alice']), { message: /OOM/ });
    t.match(store.problem(), /OOM/);
    t.equal(await lookup('two'), 'alice');
  });

  t.test('a Redis with another password: requests continue, and the log says why', async (t) => {
    const server = await createRedisServer();
    await server.command('CONFIG', 'SET', 'requirepass', 'right');
    const { replica } = await setUp(t, server);
    const { lookup, problems } = replica({ url: server.url.replace('unix://', 'unix://:wrong@host') });
    t.equal(await lookup('one'), 'alice');
    await eventually(() => problems.some((problem) => /WRONGPASS/.test(String(problem))));
    t.notMatch(problems.join(), /right|:wrong/);
  });

  t.test('forged entries of every kind count as absent', async (t) => {
    const server = await createRedisServer();
    const { backend, ready, entries } = await setUp(t, server);
    await (await ready()).lookup('token');
    await eventually(async () => (await entries()).length === 1);
    const [name = ''] = await entries();
    const forgeries = [
      ['SET', name, '{"value":"{\\"name\\":\\"root\\"}"}'],
      ['SETRANGE', name, '100000000', 'x'],
      ['SET', name, ''],
      ['LPUSH', name, 'x'],
    ];
    for (const words of forgeries) {
      await server.command('DEL', name);
      await server.command(...words);
      t.equal(await (await ready()).lookup('token'), 'alice');
    }
    t.equal(backend.asked.length, 1 + forgeries.length);
  });

  t.test('a record of a drop that was made a list does not hinder the next drop', async (t) => {
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

  t.test('two replicas follow the drop of a third', async (t) => {
    const server = await createRedisServer();
    const { backend, ready } = await setUp(t, server);
    const [one, two, operator] = [await ready(), await ready(), await ready()];
    for (const { lookup } of [one, two]) await lookup('token');
    backend.answer = async () => 'alice without rights';
    await operator.shared.drop(['user:alice']);
    for (const { lookup } of [one, two]) {
      await eventually(async () => (await lookup('token')) === 'alice without rights');
    }
  });

  t.test('an old entry written back after a drop is worth nothing', async (t) => {
    const server = await createRedisServer();
    const { backend, ready, entries } = await setUp(t, server);
    const { lookup, shared } = await ready();
    await lookup('token');
    await eventually(async () => (await entries()).length === 1);
    const [name = ''] = await entries();
    await server.command('COPY', name, 'copied');
    await shared.drop(['tenant:acme']);
    await server.command('COPY', 'copied', name, 'REPLACE');
    backend.answer = async () => 'alice without rights';
    t.equal(await (await ready()).lookup('token'), 'alice without rights');
  });

  t.test('a drop that was told while a replica did not listen is found when it listens again', async (t) => {
    const server = await createRedisServer();
    const { backend, ready } = await setUp(t, server);
    const [one, two] = [await ready(), await ready()];
    await two.lookup('token');
    const listeners = async () => String(await server.command('CLIENT', 'LIST', 'TYPE', 'PUBSUB'));
    await eventually(async () => (await listeners()).trim().split('\n').length === 2);
    await server.command('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
    t.equal((await listeners()).trim(), '', 'no connection listens');
    await one.shared.drop(['user:alice']);
    backend.answer = async () => 'alice without rights';
    await eventually(async () => (await two.lookup('token')) === 'alice without rights');
  });
}
