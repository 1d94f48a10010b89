import t from 'tap';
import { runAt, systemClock, unlessAborted } from '../../../src/lib/clock.ts';
import { currentTrace, runTraced } from '../../../src/lib/request-trace.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const DAY = 86_400_000;

function setUp(moment: number) {
  const clock = createFakeClock(0);
  const ran: number[] = [];
  const timer = runAt(clock, moment, () => ran.push(clock.now()));
  return { clock, ran, timer };
}

t.test('an action that is further away than a timer can reach runs once', async (t) => {
  const { clock, ran } = setUp(60 * DAY);
  while (ran.length === 0) {
    if (clock.untilNext >= 2 ** 31) t.fail('Node has no timer this long');
    clock.advance(clock.untilNext);
  }
  t.same(ran, [60 * DAY]);
  t.equal(clock.pending, 0);
});

t.test('an action in the past runs at once, but not within the call', async (t) => {
  const { clock, ran } = setUp(-1);
  t.same(ran, []);
  clock.advance(0);
  t.same(ran, [0]);
});

t.test('a cancelled timer does not run', async (t) => {
  const { clock, ran, timer } = setUp(2 * DAY);
  clock.advance(DAY);
  timer.cancel();
  clock.advance(2 * DAY);
  t.same(ran, []);
  t.equal(clock.pending, 0);
});

t.test('work that ignores its signal is not waited for', async (t) => {
  const ending = new AbortController();
  const work = new Promise<never>(() => {});
  const result = unlessAborted(work, ending.signal);
  ending.abort(new Error('too late'));
  await t.rejects(result, { message: 'too late' });
});

t.test('the result of work that has ended counts', async (t) => {
  const ending = new AbortController();
  t.equal(await unlessAborted(Promise.resolve('done'), ending.signal), 'done');
  await t.rejects(unlessAborted(Promise.reject(new Error('failed')), ending.signal), { message: 'failed' });
});

t.test('what a timer does belongs to no request', async (t) => {
  const trace = { stage() {}, call: () => undefined };
  // A timer of the clock does not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const seen = await runTraced(
    trace,
    () => new Promise((resolve) => systemClock.after(0, () => resolve(currentTrace()))),
  );
  t.equal(seen, undefined);
  t.equal(runTraced(trace, currentTrace), trace);
});
