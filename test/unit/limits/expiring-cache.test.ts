import t from 'tap';
import { createExpiringCache } from '../../../src/limits/expiring-cache.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('a cache has at most its maximum number of entries, each until it expires', (t) => {
  const clock = createFakeClock();
  const cache = createExpiringCache<number>({ maxEntries: 2, clock });
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index, clock.now() + 1_000);
  t.same(
    ['a', 'b', 'c'].map((key) => cache.get(key)),
    [undefined, 1, 2],
  );
  clock.advance(1_000);
  t.equal(cache.get('c'), undefined);
  cache.set('b', 1, clock.now());
  t.equal(cache.get('b'), undefined);
  t.end();
});
