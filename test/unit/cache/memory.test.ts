import t from 'tap';
import { createMemoryTier } from '../../../src/cache/memory.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('memory holds so many entries and no more, and none beyond its end', (t) => {
  const clock = createFakeClock();
  const memory = createMemoryTier<number>({ maxEntries: 2, clock });
  for (const [index, key] of ['a', 'b', 'c'].entries()) memory.set(key, index, clock.now() + 1_000);
  t.same([...memory.keys()].sort(), ['b', 'c']);
  clock.advance(1_000);
  t.equal(memory.get('c'), undefined);
  memory.set('b', 1, clock.now());
  t.equal(memory.size, 0);
  t.end();
});
