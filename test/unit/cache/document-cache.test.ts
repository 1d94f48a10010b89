import t from 'tap';
import { createDocumentCache } from '../../../src/cache/document-cache.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const live = new AbortController().signal;
/** What an entry counts beside its document and key. */
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
  const get = (key: string, document = 'document', { owner = 'acme' } = {}): Promise<string> =>
    cache.get({ owner, key, reusable: true }, live, async () => {
      fetched.push(key);
      return document;
    });
  return { clock, cache, fetched, get };
}

/** Fetches that the test ends, with what became of each. */
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
  ): Promise<string> => {
    const asked = cache.get({ owner, ...(queue && { queue }), key, reusable }, signal, (wanted) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      wanted.addEventListener('abort', () => reject(wanted.reason));
      begun.push({ key, signal: wanted, answer: resolve });
      return promise;
    });
    // All callers that wait for it get the error.
    asked.catch(() => {});
    return asked;
  };
  return { get, ask, begun, keys: () => begun.map(({ key }) => key) };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test('a document is fetched once in its time', async (t) => {
  const { clock, fetched, get } = setUp();
  t.equal(await get('a'), 'document');
  clock.advance(9_999);
  t.equal(await get('a', 'newer'), 'document');
  clock.advance(1);
  t.equal(await get('a', 'newer'), 'newer');
  t.same(fetched, ['a', 'a']);
});

t.test('a document that cannot be cached is fetched again, and so is one that failed', async (t) => {
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

t.test('all documents take so many bytes and no more: the least recently used give way', async (t) => {
  const { fetched, get } = setUp();
  await get('large', sized(1100));
  await get('large', sized(1100));
  t.same(fetched, ['large', 'large'], 'larger than the cache: not cached');
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await get(key, sized(400));
  t.same(fetched.slice(2), ['a', 'b', 'c', 'b']);
});

t.test('so many fetches of an owner run at once; more wait, and beyond them they are refused', async (t) => {
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
});

t.test('users of another queue neither fill the owner’s nor hold up its fetches', async (t) => {
  const { ask, begun, keys } = heldFetches();
  for (const key of ['a', 'b', 'c', 'd', 'e']) ask(key, { queue: 'others' });
  await t.rejects(ask('f', { queue: 'others', reusable: false }), { code: 'TenantRateExceeded' });
  const own = ask('a');
  await settled();
  t.same(keys(), ['a', 'b', 'a'], 'the same document is fetched for both');
  begun[2]?.answer('document');
  t.equal(await own, 'document', 'before those of the other queue have theirs');
  t.equal(await ask('a', { queue: 'others' }), 'document', 'who have it too from then on');
  t.equal(begun.length, 3);
});

t.test('a fetch goes on while one waits for it, and ends when the last has left', async (t) => {
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
  t.equal(await anew, 'document', 'who comes later is not given what was broken off');
});
