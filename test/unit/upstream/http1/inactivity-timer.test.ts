import t from 'tap';
import { TimeoutQueue } from '../../../../src/lib/timeout-queue.ts';
import { InactivityTimer } from '../../../../src/upstream/http1/inactivity-timer.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

function timerOf() {
  const clock = createFakeClock(0);
  const seen = { expired: 0 };
  const timer = new InactivityTimer(new TimeoutQueue(clock, 100), () => {
    seen.expired += 1;
  });
  return { clock, seen, timer };
}

t.test('a timer expires once, after a time without activity', async (t) => {
  const { clock, seen, timer } = timerOf();
  clock.advance(60);
  timer.touch();
  clock.advance(99);
  t.equal(seen.expired, 0);
  clock.advance(1);
  clock.advance(1000);
  t.equal(seen.expired, 1);
  t.equal(clock.pending, 0);
});

t.test('a timer that is held does not count, and counts in full after', async (t) => {
  const { clock, seen, timer } = timerOf();
  timer.hold();
  clock.advance(1000);
  timer.release();
  clock.advance(99);
  t.equal(seen.expired, 0);
  clock.advance(1);
  t.equal(seen.expired, 1);
});

t.test('a timer that was stopped does not expire, not even at the same moment', async (t) => {
  const clock = createFakeClock(0);
  const timeouts = new TimeoutQueue(clock, 100);
  let calls = 0;
  new InactivityTimer(timeouts, () => second.stop());
  const second = new InactivityTimer(timeouts, () => {
    calls += 1;
  });
  clock.advance(100);
  t.equal(calls, 0);
  t.equal(clock.pending, 0);
});
