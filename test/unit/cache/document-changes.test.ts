import t from 'tap';
import { createDocumentCache } from '../../../src/cache/document-cache.ts';
import { DocumentChanges } from '../../../src/cache/document-changes.ts';
import { createProcessCache } from '../../../src/cache/process-cache.ts';
import { createSharedCache, type SharedCache } from '../../../src/cache/shared-cache.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createMemoryStore } from '../../support/redis/memory-store.ts';

const live = new AbortController().signal;
const TTL = 10_000;

function replica(clock: ReturnType<typeof createFakeClock>, shared: SharedCache, recentTTL = 0) {
  let fetched = 0;
  const changes = new DocumentChanges({ shared, period: TTL, clock, logger: silentLogger });
  const cache = createDocumentCache<string>({
    ttl: TTL,
    recentTTL,
    maxBytes: 10_000,
    fetches: { running: 8, waiting: 8 },
    sizeOf: (text) => text.length,
    isCacheable: () => true,
    changes,
    clock,
    telemetry: noTelemetry,
  });
  const get = (owner = 'acme') =>
    cache.get({ owner, key: 'k', reusable: true }, live, async () => {
      fetched += 1;
      return `${owner} ${fetched}`;
    });
  return { changes, get };
}

function alone(recentTTL = 0) {
  const clock = createFakeClock();
  return { clock, ...replica(clock, createProcessCache({ clock, longestLife: TTL }), recentTTL) };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Each call returns the cache of another replica. */
function sharedCaches(clock: Clock) {
  const store = createMemoryStore();
  return () =>
    createSharedCache({
      store: store.connect(),
      sealingKeys: [Buffer.alloc(32, 1)],
      keyPrefix: 'test:',
      longestLife: TTL,
      clock,
      random: systemRandom,
      logger: silentLogger,
      telemetry: noTelemetry,
    });
}

t.test('after a change, no document of the tenant is cached for one TTL', async (t) => {
  const { clock, changes, get } = alone();
  t.equal(await get(), 'acme 1');
  t.equal(await get('globex'), 'globex 2');
  changes.changed('acme');
  t.equal(await get('globex'), 'globex 2', 'the documents of another tenant stay cached');
  t.equal(await get(), 'acme 3');
  clock.advance(TTL - 1);
  t.equal(await get(), 'acme 4');
  clock.advance(1);
  t.equal(await get(), 'acme 5');
  t.equal(await get(), 'acme 5');
});

t.test('a change without an owner concerns every tenant', async (t) => {
  const { changes, get } = alone();
  t.equal(await get('globex'), 'globex 1');
  changes.changed(undefined);
  t.equal(await get('globex'), 'globex 2');
  t.equal(await get('initech'), 'initech 3');
  t.equal(await get('initech'), 'initech 4');
});

t.test('after a change for all tenants, documents are still cached for a moment', async (t) => {
  const { clock, changes, get } = alone(1_000);
  t.equal(await get(), 'acme 1');
  clock.advance(2_000);
  changes.changed(undefined);
  t.equal(await get(), 'acme 2');
  clock.advance(999);
  t.equal(await get(), 'acme 2');
  clock.advance(1);
  t.equal(await get(), 'acme 3');
});

t.test('replicas that share a Redis learn of each other’s changes', async (t) => {
  const clock = createFakeClock();
  const shared = sharedCaches(clock);
  const [one, other] = [replica(clock, shared()), replica(clock, shared())];
  for (const owner of ['acme', undefined]) {
    clock.advance(2 * TTL);
    const before = await other.get();
    t.equal(await other.get(), before);
    one.changes.changed(owner);
    await settled();
    const after = await other.get();
    t.not(after, before);
    t.not(await other.get(), after);
  }
});

t.test('many changes are announced to the other replicas at most once a second', async (t) => {
  const clock = createFakeClock();
  const shared = sharedCaches(clock);
  const own = shared();
  let told = 0;
  const one = replica(clock, {
    ...own,
    drop(tags) {
      told += 1;
      return own.drop(tags);
    },
  });
  const other = replica(clock, shared());
  await other.get();
  for (let change = 0; change < 199; change += 1) {
    one.changes.changed('acme');
    await settled();
    clock.advance(10);
  }
  t.equal(told, 2);
  const before = await other.get();
  clock.advance(TTL - 1_000);
  t.not(await other.get(), before, 'nothing is cached until one second before the TTL has passed');
});
