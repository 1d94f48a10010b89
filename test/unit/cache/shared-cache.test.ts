import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createMemoryStore } from '../../support/redis/memory-store.ts';
import {
  createBackend,
  createReplica,
  factsCodec,
  type ReplicaOptions,
  sealingKey,
  TTL,
} from '../../support/redis/replica.ts';

const TOKEN = 'gAAAAABvery-secret-token';
const HOUR = 3_600_000;

/** Replicas over one store and one backend. */
function setUp() {
  const clock = createFakeClock();
  const backend = createBackend(clock);
  const store = createMemoryStore();
  function join(options: Partial<ReplicaOptions> = {}) {
    const connection = store.connect();
    const { cache, shared } = createReplica({ store: connection, ...options, clock });
    const lookup = async (token = TOKEN) => {
      const facts = await cache.lookup(token, backend.load);
      // Entries are written to Redis after the facts have been returned.
      await turn();
      return facts?.name;
    };
    return { connection, cache, shared, lookup };
  }
  const entryNames = () => [...store.values.keys()].filter((name) => name.includes('entry:'));
  /** The records of drops. */
  const records = () => [...store.values].filter(([name]) => name.includes('epoch:'));
  return { clock, backend, store, join, entryNames, records };
}

t.test('if the clock of a replica is fast, its entries live longer by at most the difference', async (t) => {
  const { clock, backend, store } = setUp();
  const ahead = createFakeClock(clock.now() + 30_000);
  const one = createReplica({ clock: ahead, store: store.connect() });
  await one.cache.lookup(TOKEN, backend.load);
  await turn();
  const two = createReplica({ clock, store: store.connect() });
  await two.cache.lookup(TOKEN, backend.load);
  clock.advance(TTL + 30_000);
  await two.cache.lookup(TOKEN, backend.load);
  await turn();
  t.equal(backend.asked.length, 2);
});

t.test('a forged entry counts as absent, and the log says so once a minute', async (t) => {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => warnings.push(message) };
  const { backend, store, join, entryNames } = setUp();
  await join().lookup();
  const forge = () => {
    for (const name of entryNames())
      store.values.set(name, Buffer.from('{"value":"{\\"name\\":\\"root\\"}"}'));
  };
  forge();
  t.equal(await join({ logger }).lookup(), 'alice');
  t.equal(backend.asked.length, 2);
  t.equal(warnings.length, 1);
  const victim = join({ logger });
  for (const token of ['one', 'two']) {
    await victim.lookup(token);
    forge();
    victim.cache.clear();
    await victim.lookup(token);
  }
  t.equal(warnings.length, 2);
});

t.test('an entry copied to the name of another credential counts as absent', async (t) => {
  const { backend, store, join, entryNames } = setUp();
  const one = join();
  await one.lookup('token of alice');
  const [alice = ''] = entryNames();
  backend.answer = async () => 'mallory';
  await one.lookup('token of mallory');
  const mallory = entryNames().find((name) => name !== alice) ?? '';
  store.values.set(mallory, store.values.get(alice) ?? Buffer.alloc(0));
  t.equal(await join().lookup('token of mallory'), 'mallory');
});

t.test('C258 an entry copied from another configuration or another cache counts as absent', async (t) => {
  const { backend, store, join, entryNames } = setUp();
  await join({ configurationDigest: 'before' }).lookup();
  const [before = ''] = entryNames();
  const sealed = store.values.get(before) ?? Buffer.alloc(0);
  for (const other of [
    { configurationDigest: 'after' },
    { codec: { ...factsCodec, name: 'token-review' } },
  ]) {
    await join(other).lookup();
    for (const name of entryNames()) store.values.set(name, sealed);
    await join(other).lookup();
  }
  t.equal(backend.asked.length, 5);
});

t.test('an old entry that is written back after a drop is ignored', async (t) => {
  const { backend, store, join, entryNames } = setUp();
  const one = join();
  await one.lookup();
  const before = new Map(store.values);
  await one.shared.drop(['user:alice']);
  for (const name of entryNames()) store.values.delete(name);
  for (const [name, value] of before) store.values.set(name, value);
  backend.answer = async () => 'alice without rights';
  t.equal(await one.lookup(), 'alice without rights');
  for (const [name, value] of before) store.values.set(name, value);
  t.equal(await join().lookup(), 'alice without rights', 'a replica that started later ignores it too');
});

t.test('a second drop in the same millisecond takes effect', async (t) => {
  const { backend, join } = setUp();
  const { lookup, shared } = join();
  for (let i = 0; i < 2; i += 1) {
    await shared.drop(['user:alice']);
    await lookup();
  }
  t.equal(backend.asked.length, 2);
});

t.test('if Redis lost the record of a drop, a replica that knows the drop writes it back', async (t) => {
  const { store, join, entryNames, records } = setUp();
  const one = join();
  await one.lookup();
  const old = new Map(store.values);
  await one.shared.drop(['user:alice']);
  await one.lookup();
  store.values.clear();
  one.cache.clear();
  for (const [name, value] of old) store.values.set(name, value);
  await one.lookup();
  t.equal(records().length, 1);
  t.equal(entryNames().length, 1);
});

t.test('an unsealed epoch has no effect, neither as a record nor as a message', async (t) => {
  const { clock, backend, store, join, records } = setUp();
  const one = join();
  await one.lookup();
  await one.shared.drop(['user:bob']);
  const [[name = '', record = Buffer.alloc(0)] = []] = records();
  const forged = record.toString().replace(/^\d+/, String(clock.now() + HOUR));
  store.values.set(name, Buffer.from(forged));
  store.publish(`${name.replace('stonegate:epoch:', '')} ${forged}`);
  store.publish('x'.repeat(5_000));
  store.publish('\n \n');
  await one.lookup();
  await one.shared.drop(['user:bob']);
  t.equal(backend.asked.length, 1);
  t.not(store.values.get(name)?.toString(), forged, 'it does not prevent the next drop');
});

t.test('an epoch of one user that is copied to the name of another has no effect', async (t) => {
  const { store, join, records } = setUp();
  const one = join();
  await one.lookup('token of alice');
  await one.shared.drop(['user:alice']);
  const [[alice = '', record = Buffer.alloc(0)] = []] = records();
  await one.shared.drop(['user:bob']);
  const [bob = ''] = records().find(([name]) => name !== alice) ?? [];
  store.values.set(bob, record);
  await one.shared.drop(['user:bob']);
  t.notSame(store.values.get(bob), record);
});

t.test('after a gap in the messages, epochs are read from Redis before an entry is used again', async (t) => {
  const { backend, join } = setUp();
  const [one, two] = [join(), join()];
  await two.lookup();
  two.connection.deaf = true;
  await one.shared.drop(['user:alice']);
  backend.answer = async () => 'alice without rights';
  t.equal(await two.lookup(), 'alice', 'no message reached this replica');
  two.connection.gap();
  t.equal(await two.lookup(), 'alice without rights');
});

t.test('an entry is not shared while Redis cannot say whether it was dropped', async (t) => {
  const { join, entryNames } = setUp();
  const { connection, lookup } = join();
  connection.away = true;
  await lookup();
  connection.away = false;
  t.same(entryNames(), []);
});

t.test('a replica that misses a drop during a lookup neither shares nor caches the result', async (t) => {
  const { backend, join, entryNames } = setUp();
  const one = join();
  const two = join();
  two.connection.deaf = true;
  const { promise, resolve } = Promise.withResolvers<string>();
  backend.answer = () => promise;
  const lookup = two.lookup();
  await turn();
  await one.shared.drop(['user:alice']);
  resolve('alice');
  await lookup;
  t.same(entryNames(), []);
  backend.answer = async () => 'alice without rights';
  t.equal(await two.lookup(), 'alice without rights');
});

t.test('key rotation: entries sealed with the old key are used while that key is configured', async (t) => {
  const { backend, join } = setUp();
  const [oldKey, newKey] = [sealingKey(1), sealingKey(2)];
  await join({ sealingKeys: [oldKey] }).lookup();
  await join({ sealingKeys: [newKey, oldKey] }).lookup();
  t.equal(backend.asked.length, 1);
  await join({ sealingKeys: [newKey] }).lookup();
  t.equal(backend.asked.length, 2);
});

t.test('key rotation: replicas with different keys follow each other’s drops', async (t) => {
  const { backend, join } = setUp();
  const [oldKey, newKey] = [sealingKey(1), sealingKey(2)];
  const replicas = [join({ sealingKeys: [oldKey] }), join({ sealingKeys: [newKey, oldKey] })];
  for (const dropper of [...replicas, join({ sealingKeys: [oldKey, newKey] })]) {
    for (const { lookup } of replicas) await lookup();
    const before = backend.asked.length;
    await dropper.shared.drop(['tenant:acme']);
    for (const { lookup } of replicas) await lookup();
    t.ok(backend.asked.length > before);
  }
});

t.test('other replicas learn what one replica dropped, even if they missed the message', async (t) => {
  const { join } = setUp();
  const [one, two] = [join(), join()];
  two.connection.deaf = true;
  t.equal(await two.shared.wasDropped('event:x'), false);
  await one.shared.drop(['event:x']);
  t.equal(await one.shared.wasDropped('event:x'), true);
  t.equal(await two.shared.wasDropped('event:x'), true);
  one.connection.away = true;
  t.equal(await one.shared.wasDropped('event:x'), true);
  t.equal(await one.shared.wasDropped('event:y'), false);
});

t.test(
  'a drop that Redis refuses still takes effect in this replica, and is reported as failed',
  async (t) => {
    for (const fault of ['away', 'full'] as const) {
      const { backend, join } = setUp();
      const one = join();
      await one.lookup();
      backend.answer = async () => 'alice without rights';
      one.connection[fault] = true;
      await t.rejects(one.shared.drop(['user:alice']), {
        message: /did not take the drop: (connection refused|OOM)/,
      });
      t.equal(await one.lookup(), 'alice without rights', fault);
    }
  },
);
