import t from 'tap';
import { InactivityTimers } from '../../../../src/upstream/http1/inactivity-timer.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

function timerOf() {
  const clock = createFakeClock(0);
  const seen = { idle: 0 };
  const timer = new InactivityTimers(clock, 100).start(() => {
    seen.idle += 1;
  });
  return { clock, seen, timer };
}

t.test('an idle timer', async (t) => {
  t.test('calls once after the silence', async (t) => {
    const { clock, seen } = timerOf();
    clock.advance(99);
    t.equal(seen.idle, 0);
    clock.advance(1);
    clock.advance(1000);
    t.equal(seen.idle, 1);
  });

  t.test('begins anew when touched', async (t) => {
    const { clock, seen, timer } = timerOf();
    clock.advance(60);
    timer.touch();
    clock.advance(99);
    t.equal(seen.idle, 0);
    clock.advance(1);
    t.equal(seen.idle, 1);
  });

  t.test('does not count while held, and counts in full after', async (t) => {
    const { clock, seen, timer } = timerOf();
    timer.hold();
    clock.advance(1000);
    timer.release();
    clock.advance(99);
    t.equal(seen.idle, 0);
    clock.advance(1);
    t.equal(seen.idle, 1);
  });

  t.test('leaves no timer behind when stopped', async (t) => {
    const { clock, timer } = timerOf();
    clock.advance(60);
    timer.touch();
    clock.advance(60);
    timer.stop();
    t.equal(clock.pending, 0);
  });

  t.test('is not called once stopped, be it by another that was silent as long', async (t) => {
    const clock = createFakeClock(0);
    const timers = new InactivityTimers(clock, 100);
    let calls = 0;
    timers.start(() => second.stop());
    const second = timers.start(() => {
      calls += 1;
    });
    clock.advance(100);
    t.equal(calls, 0);
    t.equal(clock.pending, 0);
  });
});
