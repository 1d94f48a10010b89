import t from 'tap';
import { createDocumentCache } from '../../../src/cache/document-cache.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function setUp() {
  const clock = createFakeClock();
  const fetched: string[] = [];
  const cache = createDocumentCache<string>({
    ttl: 10_000,
    maxBytes: 100,
    sizeOf: (text) => text.length,
    keep: (text) => text !== 'not found',
    clock,
    telemetry: noTelemetry,
  });
  const get = (key: string, document = 'document'): Promise<string> =>
    cache.get(key, async () => {
      fetched.push(key);
      return document;
    });
  return { clock, cache, fetched, get };
}

t.test('a document is fetched once in its time', async (t) => {
  const { clock, fetched, get } = setUp();
  t.equal(await get('a'), 'document');
  clock.advance(9_999);
  t.equal(await get('a', 'newer'), 'document');
  clock.advance(1);
  t.equal(await get('a', 'newer'), 'newer');
  t.same(fetched, ['a', 'a']);
});

t.test('those who ask at once share one fetch', async (t) => {
  const { fetched, get } = setUp();
  await Promise.all([get('a'), get('a'), get('b')]);
  t.same(fetched, ['a', 'b']);
});

t.test('what is not fit to be kept is fetched again, and so is what failed', async (t) => {
  const { cache, fetched, get } = setUp();
  await get('a', 'not found');
  await t.rejects(
    cache.get('a', () => Promise.reject(new Error('down'))),
    { message: 'down' },
  );
  await get('a');
  t.same(fetched, ['a', 'a']);
});

t.test('the documents take so many bytes and no more', async (t) => {
  const { fetched, get } = setUp();
  await get('large', 'x'.repeat(101));
  await get('large', 'x'.repeat(101));
  t.same(fetched, ['large', 'large'], 'larger than all: not kept');
  for (const key of ['a', 'b', 'c', 'a']) await get(key, 'x'.repeat(40));
  t.same(fetched.slice(2), ['a', 'b', 'c', 'a']);
});
