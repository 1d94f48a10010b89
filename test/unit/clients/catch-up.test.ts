/** Requests that name a revision above the index's share one look at the API server. */
import t, { type Test } from 'tap';
import { CatchUp } from '../../../src/clients/catch-up.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function site(t: Test) {
  const clock = createFakeClock(1_000_000);
  const proved: number[] = [];
  const server = { looks: 0, revision: (): Promise<number> => Promise.resolve(100) };
  const signals: AbortSignal[] = [];
  const catchUp = new CatchUp({
    clock,
    currentRevision(signal) {
      server.looks += 1;
      signals.push(signal);
      return server.revision();
    },
    prove: (revision) => proved.push(revision),
  });
  t.teardown(() => catchUp.stop());
  return {
    catchUp,
    clock,
    proved,
    server,
    signals,
    /** Runs the next timer, which is due within this time. */
    async elapse(milliseconds: number) {
      await eventually(() => clock.untilNext <= milliseconds);
      clock.advance(milliseconds);
    },
  };
}

t.test('many requests are one look; what the API server has not reached is refused', async (t) => {
  const { catchUp, server, proved, elapse } = site(t);
  const asked = [90, 100, 101, 1e9].map((revision) => catchUp.request(revision));
  await elapse(50);
  t.same(await Promise.all(asked), [true, true, false, false]);
  t.equal(server.looks, 1);
  t.same(proved, [90, 100], 'a revision of the future costs the resources nothing');
});

t.test('a request that comes after a look has begun is judged by the next one', async (t) => {
  const { catchUp, server, elapse } = site(t);
  let tell = (_revision: number) => {};
  server.revision = () =>
    new Promise((resolve) => {
      tell = resolve;
    });
  const first = catchUp.request(90);
  await elapse(50);
  await eventually(() => server.looks === 1);
  server.revision = async () => 105;
  const second = catchUp.request(103);
  tell(100);
  t.equal(await first, true);
  await elapse(500);
  t.equal(await second, true, 'it may have been written meanwhile');
  t.equal(server.looks, 2);
});

t.test(
  'requests that never cease make the looks rarer; after ten quiet seconds they are as at first',
  async (t) => {
    const { catchUp, clock, elapse } = site(t);
    const pauses: number[] = [];
    const ask = async () => {
      const asked = catchUp.request(1e9);
      await eventually(() => clock.untilNext < 5_000);
      pauses.push(clock.untilNext);
      await elapse(clock.untilNext);
      t.equal(await asked, false);
    };
    for (let time = 0; time < 5; time += 1) await ask();
    t.same(pauses, [50, 500, 1_000, 2_000, 2_000]);
    clock.advance(10_000);
    await ask();
    await ask();
    t.same(pauses.slice(5), [50, 500]);
  },
);

t.test('an API server that does not answer, or too slowly, refuses no request', async (t) => {
  const { catchUp, server, signals, elapse, proved, clock } = site(t);
  server.revision = () => Promise.reject(new Error('down'));
  const down = catchUp.request(90);
  await elapse(50);
  t.equal(await down, true);
  server.revision = () =>
    new Promise((_resolve, reject) => {
      const signal = signals.at(-1);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const slow = catchUp.request(90);
  await elapse(500);
  await eventually(() => server.looks === 2);
  await elapse(3_000);
  t.equal(await slow, true, 'the request goes on waiting for the index');
  t.same(proved, []);
  t.equal(clock.pending, 0);
});

t.test('it stops at any moment, and leaves no timer', async (t) => {
  const { catchUp, server, clock } = site(t);
  const asked = catchUp.request(90);
  await eventually(() => clock.pending === 1);
  catchUp.stop();
  t.equal(await asked, true);
  t.equal(await catchUp.request(90), true);
  t.equal(server.looks, 0);
  t.equal(clock.pending, 0);
});
