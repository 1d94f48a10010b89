import t from 'tap';
import { createDocumentCache } from '../../../src/cache/document-cache.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const live = new AbortController().signal;
/** Bytes that an entry counts in addition to its document and key. */
const ENTRY = 256;
const sized = (bytes: number) => 'x'.repeat(bytes - ENTRY - 2 * '["acme","large"]'.length);

function setUp({ maxBytes = 1000, running = 2, waiting = 3 } = {}) {
  const clock = createFakeClock();
  const fetched: string[] = [];
  const cache = createDocumentCache<string>({
    ttl: 10_000,
    maxBytes,
    fetches: { running, waiting },
    sizeOf: (text) => text.length,
    isCacheable: (text) => text !== 'not found',
    changes: { isRecent: () => false },
    clock,
    telemetry: noTelemetry,
  });
  const get = (key: string, document = 'document', { owner = 'acme' } = {}) =>
    cache.get({ owner, key, reusable: true }, live, async () => {
      fetched.push(key);
      return document;
    });
  return { clock, cache, fetched, get };
}

/** Fetches that the test completes by calling `answer`. */
function heldFetches(options: Parameters<typeof setUp>[0] = {}) {
  const { cache, get } = setUp(options);
  const begun: { key: string; signal: AbortSignal; answer(document: string): void }[] = [];
  const ask = (
    key: string,
    {
      owner = 'acme',
      queue,
      signal = live,
      reusable = true,
    }: { owner?: string; queue?: string; signal?: AbortSignal; reusable?: boolean } = {},
  ) => {
    const asked = cache.get({ owner, ...(queue && { queue }), key, reusable }, signal, (wanted) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      wanted.addEventListener('abort', () => reject(wanted.reason));
      begun.push({ key, signal: wanted, answer: resolve });
      return promise;
    });
    // Every caller that waits for a fetch gets its error. The test awaits only some of them.
    asked.catch(() => {});
    return asked;
  };
  return { get, ask, begun, keys: () => begun.map(({ key }) => key) };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test('a document is fetched once within its TTL', async (t) => {
  const { clock, fetched, get } = setUp();
  t.equal(await get('a'), 'document');
  clock.advance(9_999);
  t.equal(await get('a', 'newer'), 'document');
  clock.advance(1);
  t.equal(await get('a', 'newer'), 'newer');
  t.same(fetched, ['a', 'a']);
});

t.test('a document is fetched again if it cannot be cached or its fetch failed', async (t) => {
  const { cache, fetched, get } = setUp();
  await get('a', 'not found');
  const failing = cache.get({ owner: 'acme', key: 'a', reusable: true }, live, () =>
    Promise.reject(new Error('down')),
  );
  await t.rejects(failing, { message: 'down' });
  await get('a');
  t.same(fetched, ['a', 'a']);
});

t.test('a document that is not reusable is never cached', async (t) => {
  const { ask, begun, keys } = heldFetches();
  const [first, second] = [ask('health', { reusable: false }), ask('health', { reusable: false })];
  await settled();
  t.same(keys(), ['health', 'health']);
  for (const { answer } of begun) answer('ok');
  t.same(await Promise.all([first, second]), ['ok', 'ok']);
});

t.test(
  'all documents together take at most maxBytes; the least recently used ones are evicted',
  async (t) => {
    const { fetched, get } = setUp();
    await get('large', sized(1100));
    await get('large', sized(1100));
    t.same(fetched, ['large', 'large'], 'a document larger than the cache is not cached');
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await get(key, sized(400));
    t.same(fetched.slice(2), ['a', 'b', 'c', 'b']);
  },
);

t.test(
  'an owner has a bounded number of fetches running and waiting; further ones are refused',
  async (t) => {
    const { ask, begun, keys } = heldFetches();
    const asked = ['a', 'b', 'c', 'd', 'e'].map((key) => ask(key));
    await settled();
    t.same(keys(), ['a', 'b']);
    await t.rejects(ask('f'), { code: 'TenantRateExceeded', http: 429 });
    ask('a', { owner: 'globex' });
    await settled();
    t.same(keys(), ['a', 'b', 'a'], 'another owner does not wait');
    for (let index = 0; index < 6; index += 1) {
      begun[index]?.answer('document');
      await settled();
    }
    t.same(await Promise.all(asked), Array(5).fill('document'));
    t.same(keys(), ['a', 'b', 'a', 'c', 'd', 'e']);
  },
);

t.test('users in another queue neither fill the queue of the owner nor delay its fetches', async (t) => {
  const { ask, begun, keys } = heldFetches();
  for (const key of ['a', 'b', 'c', 'd', 'e']) ask(key, { queue: 'others' });
  await t.rejects(ask('f', { queue: 'others', reusable: false }), { code: 'TenantRateExceeded' });
  const own = ask('a');
  await settled();
  t.same(keys(), ['a', 'b', 'a'], 'the same document is fetched for both');
  begun[2]?.answer('document');
  t.equal(await own, 'document', 'the owner gets it before users in the other queue do');
  t.equal(
    await ask('a', { queue: 'others' }),
    'document',
    'users in the other queue get it from the cache from then on',
  );
  t.equal(begun.length, 3);
});

t.test(
  'a fetch continues while a caller waits for it, and is cancelled when the last one disconnects',
  async (t) => {
    const { ask, begun } = heldFetches();
    const [one, other] = [new AbortController(), new AbortController()];
    const left = ask('a', { signal: one.signal });
    const last = ask('a', { signal: other.signal });
    await settled();
    one.abort();
    await t.rejects(left, { code: 'UpstreamUnavailable' });
    t.equal(begun[0]?.signal.aborted, false);
    other.abort();
    await t.rejects(last, { code: 'UpstreamUnavailable' });
    t.equal(begun[0]?.signal.aborted, true);
    t.equal(begun.length, 1);
    const anew = ask('a');
    await settled();
    begun[1]?.answer('document');
    t.equal(await anew, 'document', 'a later caller causes a new fetch');
  },
);
