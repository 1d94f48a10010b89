import t from 'tap';
import { memoizeFor } from '../../../src/lib/memoize.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** Something that is loaded for ten milliseconds; the test resolves the loads. */
function setUp() {
  const clock = createFakeClock();
  const loads: PromiseWithResolvers<string>[] = [];
  const loaded = memoizeFor(10, clock, () => {
    const load = Promise.withResolvers<string>();
    loads.push(load);
    return load.promise;
  });
  return { clock, loads, loaded };
}

t.test('one load runs at a time, however long it lasts', async (t) => {
  const { clock, loads, loaded } = setUp();
  const first = loaded();
  clock.advance(20);
  t.equal(loaded(), first);
  t.equal(loads.length, 1);
});

t.test('a value counts from the beginning of its load', async (t) => {
  const { clock, loads, loaded } = setUp();
  const first = loaded();
  clock.advance(4);
  loads[0]?.resolve('old');
  t.equal(await first, 'old');
  clock.advance(5);
  t.equal(await loaded(), 'old');
  clock.advance(1);
  const next = loaded();
  loads[1]?.resolve('new');
  t.equal(await next, 'new');
});

t.test('a failed load is forgotten', async (t) => {
  const { loads, loaded } = setUp();
  const first = loaded();
  loads[0]?.reject(new Error('away'));
  await t.rejects(first, { message: 'away' });
  const next = loaded();
  loads[1]?.resolve('there');
  t.equal(await next, 'there');
});
