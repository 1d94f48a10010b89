import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { LeaderLoop } from '../../../../src/kubernetes/reconcile/leader-loop.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const INTERVAL = 300_000;

interface Run {
  readonly signal: AbortSignal;
  /** Resolves when the loop knows of it. */
  end(isOK?: boolean): Promise<void>;
}

function createLoop(t: Test, { isHeld = true } = {}) {
  const clock = createFakeClock(1_000_000);
  const runs: Run[] = [];
  const told: boolean[] = [];
  const failures: unknown[] = [];
  const state = { isHeld, isAway: false, released: 0 };
  const loop = new LeaderLoop({
    lease: {
      async hold() {
        if (state.isAway) throw new Error('away');
        return state.isHeld;
      },
      async release() {
        state.released += 1;
      },
    },
    run: (signal) =>
      new Promise<boolean>((resolve) => {
        const end = async (isOK = true) => {
          resolve(isOK);
          await nextTurn();
        };
        signal.addEventListener('abort', () => resolve(false));
        runs.push({ signal, end });
      }),
    interval: INTERVAL,
    onLeaseChange: (held) => told.push(held),
    onLeaseFailure: (error) => failures.push(error),
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
  });
  const run = async (number: number): Promise<Run> => {
    await eventually(() => runs.length >= number);
    const found = runs[number - 1];
    if (found === undefined) throw new Error('there is no such run');
    return found;
  };
  /** Runs timers until the condition holds. */
  const until = (condition: () => boolean) =>
    eventually(() => {
      if (!condition() && clock.untilNext < Number.POSITIVE_INFINITY) clock.advance(clock.untilNext);
      return condition();
    });
  loop.start();
  t.teardown(() => loop.stop());
  return { clock, loop, runs, run, told, failures, state, until };
}

t.test('the holder of the lease runs at once, and again after the interval', async (t) => {
  const { clock, run, runs, until } = createLoop(t);
  const begun = clock.now();
  await (await run(1)).end();
  await until(() => runs.length === 2);
  t.equal(clock.now() - begun, INTERVAL);
});

t.test('changes without end leave the loop idle for most of the time', async (t) => {
  const { clock, loop, run, runs, until } = createLoop(t);
  for (let count = 1; count <= 3; count += 1) {
    const running = await run(count);
    clock.advance(2_000);
    loop.wake();
    const ended = clock.now();
    await running.end();
    loop.wake();
    await until(() => runs.length === count + 1);
    t.equal(clock.now() - ended, 6_000, 'a run of two seconds');
  }
});

t.test('a change is followed by a run soon; several at once by one', async (t) => {
  const { clock, loop, run, runs, until } = createLoop(t);
  await (await run(1)).end();
  await eventually(() => clock.pending === 1);
  const woken = clock.now();
  loop.wake();
  loop.wake();
  await until(() => runs.length === 2);
  t.ok(clock.now() - woken < 1_000);
  await (await run(2)).end();
  await until(() => runs.length === 3);
  t.ok(clock.now() - woken > INTERVAL / 2, 'the third run is the periodic one');
});

t.test('a change during a run is followed by another run', async (t) => {
  const { clock, loop, run, runs, until } = createLoop(t);
  const first = await run(1);
  loop.wake();
  const woken = clock.now();
  await first.end();
  await until(() => runs.length === 2);
  t.ok(clock.now() - woken < 1_000);
});

t.test('a failed run is repeated, later each time', async (t) => {
  const { clock, run, runs, until } = createLoop(t);
  const pauses: number[] = [];
  for (let number = 1; number <= 9; number += 1) {
    const begun = clock.now();
    await (await run(number)).end(false);
    await until(() => runs.length === number + 1);
    pauses.push(clock.now() - begun);
  }
  t.same(pauses, [750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000, 45_000]);
});

t.test('a replica without the lease does not run until it has it', async (t) => {
  const { run, runs, state, told, until } = createLoop(t, { isHeld: false });
  let beats = 0;
  await until(() => {
    beats += 1;
    return beats > 5;
  });
  t.equal(runs.length, 0);
  state.isHeld = true;
  await until(() => runs.length === 1);
  await run(1);
  t.same(told, [true]);
});

t.test('a lease that is lost during a run ends the run', async (t) => {
  const { run, state, told, until } = createLoop(t);
  const first = await run(1);
  state.isHeld = false;
  await until(() => first.signal.aborted);
  t.match(first.signal.reason, { message: 'another replica is in charge now' });
  t.same(told, [true, false], 'and that is no failure');
  state.isHeld = true;
  await until(() => told.length === 3);
  await run(2);
});

t.test('the end of the process ends the run and releases the lease', async (t) => {
  const { loop, run, state, clock } = createLoop(t);
  const first = await run(1);
  await loop.stop();
  t.ok(first.signal.aborted);
  t.equal(state.released, 1);
  t.equal(clock.pending, 0);
});

t.test('a replica that does not hold the lease does not release it', async (t) => {
  const { loop, state, clock } = createLoop(t, { isHeld: false });
  await eventually(() => clock.pending === 1);
  await loop.stop();
  t.equal(state.released, 0);
});

t.test('while it is unknown who holds the lease no replica runs, and that is reported', async (t) => {
  const { run, state, told, failures, until } = createLoop(t);
  const first = await run(1);
  state.isAway = true;
  await until(() => first.signal.aborted);
  t.match(failures[0], { message: 'away' });
  state.isAway = false;
  await until(() => told.length === 3);
  await run(2);
  t.same(told, [true, false, true]);
});
