import t from 'tap';
import { createRateLimiter } from '../../../src/limits/rate-limiter.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** A limit of one a second, with a burst of two. */
function setUp() {
  const clock = createFakeClock();
  return { clock, limiter: createRateLimiter({ perSecond: 1, burst: 2, clock }) };
}

t.test('the bucket never contains more tokens than the burst', async (t) => {
  const { clock, limiter } = setUp();
  limiter.take('a');
  clock.advance(3_600_000);
  t.same([limiter.take('a'), limiter.take('a'), limiter.take('a')], [true, true, false]);
});

t.test('more tokens may be spent than there are, as a debt', async (t) => {
  const { clock, limiter } = setUp();
  t.equal(limiter.wait('a'), 0);
  limiter.spend('a', 4);
  clock.advance(2_000);
  t.equal(limiter.wait('a'), 1_000);
  clock.advance(1_000);
  t.equal(limiter.wait('a'), 0);
  t.ok(limiter.take('a'), 'wait() takes no token');
  t.notOk(limiter.take('a'));
});

t.test('drain() takes the available tokens and leaves no debt', async (t) => {
  const { clock, limiter } = setUp();
  limiter.drain('a', 100);
  t.notOk(limiter.take('a'));
  clock.advance(1_000);
  t.ok(limiter.take('a'));
});

t.test('a clock that is set back removes no tokens', async (t) => {
  const { clock, limiter } = setUp();
  limiter.take('a');
  clock.advance(-60_000);
  t.equal(limiter.take('a'), true);
  clock.advance(1_000);
  t.equal(limiter.take('a'), true);
});

t.test('the number of known keys is bounded', async (t) => {
  const limiter = createRateLimiter({ perSecond: 1, burst: 1, maxKeys: 10, clock: createFakeClock() });
  for (let i = 0; i < 1000; i += 1) limiter.take(`source ${i}`);
  t.equal(limiter.size, 10);
});
