import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { noTelemetry, type Telemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createMemoryStore } from '../../support/redis/memory-store.ts';
import { createBackend, createReplica, type ReplicaOptions, TTL } from '../../support/redis/replica.ts';

const TOKEN = 'gAAAAABvery-secret-token';
const down = (): Promise<never> =>
  Promise.reject(new StatusError('KeystoneUnavailable', 'the identity service is not available'));

function setUp(options: Partial<ReplicaOptions> = {}) {
  const clock = createFakeClock();
  const backend = createBackend(clock);
  const replica = createReplica({ ...options, clock });
  const lookup = async (token = TOKEN) => replica.cache.lookup(token, backend.load);
  return { clock, backend, lookup, ...replica };
}

/** A promise that the test settles. */
function held<T>() {
  return Promise.withResolvers<T>();
}

t.test('C119 a thousand requests with one unknown credential ask the backend once', async (t) => {
  const { lookup, backend } = setUp();
  await Promise.all(Array.from({ length: 1000 }, () => lookup()));
  t.same(backend.asked, ['miss']);
});

t.test('C188 an error of the backend is not cached', async (t) => {
  const { lookup, backend } = setUp();
  backend.answer = down;
  await t.rejects(lookup(), { code: 'KeystoneUnavailable' });
  backend.answer = async () => 'alice';
  t.same(await lookup(), { name: 'alice' });
});

t.test('C189 two users without a uid have separate entries', async (t) => {
  const { lookup, backend } = setUp();
  backend.tags = () => ['user:', 'tenant:acme'];
  await lookup('token of alice');
  backend.answer = async () => 'bob';
  t.same(await lookup('token of bob'), { name: 'bob' });
  t.same(await lookup('token of alice'), { name: 'alice' });
});

t.test('C211 an entry expires with its credential', async (t) => {
  const { lookup, backend, clock } = setUp({ ttl: 300_000, staleIfUnavailable: 600_000 });
  backend.credentialLife = 30_000;
  await lookup();
  clock.advance(29_999);
  await lookup();
  t.equal(backend.asked.length, 1);
  backend.answer = down;
  clock.advance(1);
  await t.rejects(lookup(), { code: 'KeystoneUnavailable' });
});

t.test('C244 a refused credential is cached for a few seconds', async (t) => {
  const { lookup, backend, clock } = setUp();
  backend.answer = async () => undefined;
  t.equal(await lookup(), undefined);
  clock.advance(4_999);
  t.equal(await lookup(), undefined);
  t.equal(backend.asked.length, 1);
  clock.advance(1);
  await lookup();
  t.equal(backend.asked.length, 2);
});

t.test('C244 a flood of bad credentials takes bounded memory and writes nothing to Redis', async (t) => {
  const store = createMemoryStore();
  const { lookup, backend } = setUp({ store: store.connect(), maxEntries: 10 });
  await lookup();
  await turn();
  const before = store.values.size;
  backend.answer = async () => undefined;
  for (let i = 0; i < 100; i += 1) await lookup(`bad ${i}`);
  t.same(await lookup(), { name: 'alice' }, 'known users are not evicted');
  t.equal(store.values.size, before);
});

t.test('C164 a change at the backend takes effect within the TTL', async (t) => {
  const { lookup, backend, clock } = setUp();
  await lookup();
  backend.answer = async () => undefined;
  clock.advance(TTL);
  t.equal(await lookup(), undefined);
});

t.test('an entry is refreshed before it expires, and is used meanwhile', async (t) => {
  const { lookup, backend, clock } = setUp();
  await lookup();
  clock.advance(TTL * 0.9);
  backend.answer = async () => 'alice, renamed';
  t.same(await lookup(), { name: 'alice' });
  await turn();
  t.same(await lookup(), { name: 'alice, renamed' });
  t.same(backend.asked, ['miss', 'refresh']);
});

t.test('a refresh that finds the credential invalid removes the entry at once', async (t) => {
  const store = createMemoryStore();
  const { lookup, backend, clock } = setUp({ store: store.connect() });
  await lookup();
  await turn();
  t.equal(store.values.size, 1);
  clock.advance(TTL * 0.9);
  backend.answer = async () => undefined;
  await lookup();
  await turn();
  t.equal(await lookup(), undefined);
  t.equal(store.values.size, 0, 'the entry is removed for other replicas too');
});

t.test('a credential that the API server refused is validated again even if it is cached', async (t) => {
  const store = createMemoryStore();
  const { lookup, cache, backend } = setUp({ store: store.connect() });
  await lookup();
  await turn();
  cache.forget(TOKEN);
  t.same(await lookup(), { name: 'alice' }, 'the refusal alone does not make the credential invalid');
  t.same(backend.asked, ['miss', 'miss']);
});

t.test('a failed refresh is retried only after a pause', async (t) => {
  const { lookup, backend, clock } = setUp();
  await lookup();
  clock.advance(TTL * 0.9);
  backend.answer = down;
  for (let i = 0; i < 3; i += 1) {
    t.same(await lookup(), { name: 'alice' });
    await turn();
  }
  t.equal(backend.asked.length, 2);
  clock.advance(5_000);
  await lookup();
  await turn();
  t.equal(backend.asked.length, 3);
});

t.test('at most four refreshes run at a time, so that waiting clients are served', async (t) => {
  const { lookup, backend, clock } = setUp();
  for (let i = 0; i < 10; i += 1) await lookup(`token ${i}`);
  clock.advance(TTL * 0.9);
  const answer = held<string>();
  backend.answer = () => answer.promise;
  for (let i = 0; i < 10; i += 1) await lookup(`token ${i}`);
  await turn();
  t.equal(backend.asked.filter((reason) => reason === 'refresh').length, 4);
  answer.resolve('alice');
});

t.test('a credential that expires before its entry is not refreshed', async (t) => {
  const { lookup, backend, clock } = setUp();
  backend.credentialLife = TTL;
  await lookup();
  clock.advance(TTL - 1);
  await lookup();
  await turn();
  t.same(backend.asked, ['miss']);
});

t.test('staleIfUnavailable extends the life of an entry while the backend is down', async (t) => {
  const lookups: string[] = [];
  const telemetry: Telemetry = {
    ...noTelemetry,
    cacheLookup: (tier, result) => lookups.push(`${tier} ${result}`),
  };
  const { lookup, backend, clock } = setUp({ staleIfUnavailable: 600_000, telemetry });
  await lookup();
  backend.answer = down;
  clock.advance(TTL);
  t.same(await lookup(), { name: 'alice' });
  t.match(lookups, [/./, 'memory miss', 'memory stale']);
  t.same(await lookup(), { name: 'alice' });
  t.equal(backend.asked.length, 2, 'a backend that is down is not asked for each request');
  clock.advance(600_000);
  await t.rejects(lookup(), { code: 'KeystoneUnavailable' });
});

t.test('staleIfUnavailable does not apply to a lookup over the rate limit', async (t) => {
  const { lookup, backend, clock } = setUp({ staleIfUnavailable: 600_000 });
  await lookup();
  clock.advance(TTL);
  backend.answer = () => Promise.reject(new StatusError('CredentialRateExceeded', 'Too many requests'));
  await t.rejects(lookup(), { code: 'CredentialRateExceeded' });
});

t.test('staleIfUnavailable does not apply after the backend refused the credential', async (t) => {
  const { lookup, backend, clock } = setUp({ staleIfUnavailable: 600_000 });
  await lookup();
  clock.advance(TTL);
  backend.answer = async () => undefined;
  t.equal(await lookup(), undefined);
  backend.answer = down;
  clock.advance(10_000);
  await t.rejects(lookup(), { code: 'KeystoneUnavailable' });
});

t.test(
  'after the cache was cleared, the backend is asked again, and a response in flight is not cached',
  async (t) => {
    const { lookup, cache, backend } = setUp();
    const answer = held<string>();
    backend.answer = () => answer.promise;
    const before = lookup();
    await turn();
    cache.clear();
    answer.resolve('alice');
    t.same(await before, { name: 'alice' });
    await lookup();
    t.equal(backend.asked.length, 2);
  },
);

t.test('facts from Redis that the codec cannot decode are ignored', async (t) => {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const backend = createBackend(clock);
  const codec = { name: 'keystone', encode: () => '{"other":"shape"}', decode: () => undefined };
  const { cache } = createReplica({ clock, store: store.connect(), codec });
  await cache.lookup(TOKEN, backend.load);
  await turn();
  const two = createReplica({ clock, store: store.connect(), codec });
  t.same(await two.cache.lookup(TOKEN, backend.load), { name: 'alice' });
  t.equal(backend.asked.length, 2);
});

t.test(
  'after a drop during a lookup, the backend is asked again and the older response is not cached',
  async (t) => {
    const clock = createFakeClock();
    const store = createMemoryStore();
    const backend = createBackend(clock);
    const { cache, shared } = createReplica({ clock, store: store.connect() });
    const first = held<string>();
    backend.answer = () => first.promise;
    const lookup = cache.lookup(TOKEN, backend.load);
    await turn();
    await shared.drop(['user:alice']);
    backend.answer = async () => undefined;
    first.resolve('alice');
    t.equal(await lookup, undefined);
  },
);
