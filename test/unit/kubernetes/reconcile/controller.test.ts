import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { ApplyResult } from '../../../../src/kubernetes/reconcile/apply.ts';
import { createController } from '../../../../src/kubernetes/reconcile/controller.ts';
import type { Lease } from '../../../../src/kubernetes/reconcile/lease.ts';
import { KINDS } from '../../../../src/kubernetes/reconcile/objects.ts';
import type { Deletion, Plan } from '../../../../src/kubernetes/reconcile/plan.ts';
import { type LogFields, silentLogger } from '../../../../src/lib/logger.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { type ControllerRun, noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts';

const INTERVAL = 300_000;
const NOTHING: Plan = {
  changes: [],
  refusals: [],
  unread: [],
  guarded: new Map(),
  unchanged: 3,
};
const DONE: ApplyResult = { done: [], failures: [], heldBack: [] };
const DELETION: Deletion = {
  action: 'delete',
  kind: KINDS.Namespace,
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } },
  place: {},
  reason: 'for the test',
  isOwned: () => true,
};

/** A lease that several replicas may share: its holder renews it. */
function sharedLease() {
  const state = { holder: '', away: false, released: 0 };
  const leaseOf = (name: string): Lease => ({
    async hold() {
      if (state.away) return false;
      if (state.holder === '') state.holder = name;
      return state.holder === name;
    },
    async release() {
      state.released += 1;
      if (state.holder === name) state.holder = '';
    },
  });
  return { state, leaseOf };
}

interface Scripted {
  /** What planning does, run by run; the last goes on. */
  readonly plans?: readonly (() => Promise<Plan>)[];
  readonly result?: ApplyResult;
  readonly clock?: FakeClock;
  readonly lease?: Lease;
  readonly startDelay?: number;
  readonly once?: boolean;
  readonly subscribe?: (wake: () => void) => () => void;
}

function setUp({ plans = [async () => NOTHING], result = DONE, ...given }: Scripted = {}) {
  const clock = given.clock ?? createFakeClock();
  const runs: ControllerRun[] = [];
  const signals: AbortSignal[] = [];
  const applied: AbortSignal[] = [];
  const logged: string[] = [];
  const told: LogFields[] = [];
  const say = (fields: LogFields, message: string) => {
    told.push(fields);
    logged.push(message);
  };
  const controller = createController({
    name: 'bindings',
    reconciler: {
      plan(signal) {
        const plan = plans[Math.min(signals.length, plans.length - 1)];
        signals.push(signal);
        return plan === undefined ? Promise.resolve(NOTHING) : plan();
      },
      async apply(_plan, signal) {
        applied.push(signal);
        return result;
      },
    },
    lease: given.lease ?? sharedLease().leaseOf('only'),
    ...(given.startDelay !== undefined && { startDelay: given.startDelay }),
    ...(given.once && { once: true }),
    ...(given.subscribe && { subscribe: given.subscribe }),
    interval: INTERVAL,
    clock,
    retry: { first: 10_000, longest: INTERVAL },
    random: { ...systemRandom, fraction: () => 0.5 },
    logger: { ...silentLogger, info: say, warn: say, error: say },
    telemetry: { ...noTelemetry, reconciled: (_name, run) => runs.push(run) },
  });
  return { controller, clock, runs, signals, applied, logged, told };
}

/** Lets everything happen that waits for no timer. */
const resolveNamespaces = () => new Promise((resolve) => setImmediate(resolve));

/** Turns the hands as far as they have to go, heartbeat by heartbeat. */
async function pass(clock: FakeClock, milliseconds: number): Promise<void> {
  await resolveNamespaces();
  for (let left = milliseconds; left > 0; ) {
    const step = Math.min(left, Math.max(1, clock.untilNext));
    clock.advance(step);
    left -= step;
    await resolveNamespaces();
  }
}

t.test('it runs at once, and then an interval after the end of each run', async (t) => {
  const { controller, clock, runs } = setUp();
  controller.start();
  await resolveNamespaces();
  t.equal(runs.length, 1);
  await pass(clock, INTERVAL - 1);
  t.equal(runs.length, 1);
  await pass(clock, 1);
  t.equal(runs.length, 2);
  t.same(
    runs.map(({ result }) => result),
    ['ok', 'ok'],
  );
});

t.test(
  'the interval begins with the end of a run, and no second one begins while one is under way',
  async (t) => {
    const slow = Promise.withResolvers<Plan>();
    const { controller, clock, signals } = setUp({ plans: [() => slow.promise, async () => NOTHING] });
    controller.start();
    await pass(clock, 3 * INTERVAL);
    t.equal(signals.length, 1);
    slow.resolve(NOTHING);
    await resolveNamespaces();
    await pass(clock, INTERVAL - 1);
    t.equal(signals.length, 1);
    await pass(clock, 1);
    t.equal(signals.length, 2);
  },
);

t.test('of two replicas only one ever runs', async (t) => {
  const clock = createFakeClock();
  const { leaseOf } = sharedLease();
  const [one, other] = [setUp({ clock, lease: leaseOf('one') }), setUp({ clock, lease: leaseOf('other') })];
  one.controller.start();
  other.controller.start();
  await pass(clock, 5 * INTERVAL);
  t.ok(one.runs.length >= 5);
  t.equal(other.runs.length, 0);
});

t.test('after a clean shutdown of the holder another replica continues at once', async (t) => {
  const clock = createFakeClock();
  const { leaseOf } = sharedLease();
  const [one, other] = [setUp({ clock, lease: leaseOf('one') }), setUp({ clock, lease: leaseOf('other') })];
  one.controller.start();
  other.controller.start();
  await resolveNamespaces();
  await one.controller.stop();
  await pass(clock, 10_000);
  t.equal(other.runs.length, 1);
});

t.test('a lease that is lost in the midst of a run ends the run', async (t) => {
  const { state, leaseOf } = sharedLease();
  const plans = [() => new Promise<Plan>(() => {}), async () => NOTHING];
  const { controller, clock, signals, applied, runs } = setUp({ plans, lease: leaseOf('one') });
  controller.start();
  await resolveNamespaces();
  state.holder = 'another-replica';
  await pass(clock, 10_000);
  t.equal(signals[0]?.aborted, true);
  t.match(runs, [{ result: 'broken-off' }]);
  t.equal(applied.length, 0, 'and nothing was changed');
  await pass(clock, INTERVAL);
  t.equal(signals.length, 1);
  state.holder = '';
  await pass(clock, INTERVAL);
  t.ok(signals.length > 1, 'until the lease is its own again');
});

t.test('while the lease is unavailable, no replica provisions', async (t) => {
  const { state, leaseOf } = sharedLease();
  state.away = true;
  const { controller, clock, runs } = setUp({ lease: leaseOf('one') });
  controller.start();
  await pass(clock, 2 * INTERVAL);
  t.equal(runs.length, 0);
  state.away = false;
  await pass(clock, 10_000);
  t.equal(runs.length, 1);
});

t.test('a run that fails is tried again soon, then less and less often', async (t) => {
  const plan = () => Promise.reject(new StatusError('KeystoneUnavailable', 'Service Unavailable: gone'));
  const { controller, clock, runs, logged } = setUp({ plans: [plan] });
  controller.start();
  await resolveNamespaces();
  const at: number[] = [];
  for (let passed = 0; passed < 3 * INTERVAL; passed += 1_000) {
    const before = runs.length;
    await pass(clock, 1_000);
    if (runs.length > before) at.push(passed + 1_000);
  }
  t.same(at.slice(0, 4), [8_000, 23_000, 53_000, 113_000]);
  t.equal(runs.length, 8, 'and no less often than the interval');
  t.equal(logged.filter((message) => message.includes('reconciling failed')).length, 1);
});

t.test('a programming error does not end the loop', async (t) => {
  const plans = [() => Promise.reject(new TypeError('no')), async () => NOTHING];
  const { controller, clock, runs } = setUp({ plans });
  controller.start();
  await pass(clock, 10_000);
  t.match(runs, [{ result: 'error' }, { result: 'ok' }]);
});

t.test('deletions that are held back are logged once, with their places', async (t) => {
  const inWeb = { ...DELETION, place: { namespace: 'web' } };
  const plan: Plan = { ...NOTHING, changes: [inWeb, inWeb], guarded: new Map([['web', 7]]) };
  const { controller, clock, runs, logged, told } = setUp({
    plans: [async () => plan],
    result: { ...DONE, heldBack: [inWeb, inWeb] },
  });
  controller.start();
  await pass(clock, 2 * INTERVAL);
  t.match(runs[0], { result: 'held-back', heldBack: 2, changes: { delete: 0 } });
  t.equal(logged.filter((message) => message.includes('stonegate sync --force')).length, 1);
  const waiting = told.filter((fields) => 'heldBack' in fields);
  t.match(waiting, [{ heldBack: [{ place: { namespace: 'web' }, going: 2, there: 7 }] }]);
});

t.test('a run is incomplete if a change failed or a source could not be read', async (t) => {
  const failing = setUp({
    result: { ...DONE, done: [DELETION], failures: [{ change: DELETION, reason: 'no' }] },
  });
  failing.controller.start();
  await resolveNamespaces();
  t.match(failing.runs, [
    { result: 'incomplete', changes: { create: 0, update: 0, delete: 1 }, failures: 1 },
  ]);
  const unread = setUp({ plans: [async () => ({ ...NOTHING, unread: [{ subject: 'x', reason: 'no' }] })] });
  unread.controller.start();
  await resolveNamespaces();
  t.match(unread.runs, [{ result: 'incomplete', failures: 1 }]);
});

t.test('a controller that desires nothing any more ends with the first run that succeeds', async (t) => {
  const { state, leaseOf } = sharedLease();
  const plans = [() => Promise.reject(new TypeError('no')), async () => NOTHING];
  const { controller, clock, runs } = setUp({ plans, lease: leaseOf('one'), once: true });
  controller.start();
  await pass(clock, 2 * INTERVAL);
  t.match(runs, [{ result: 'error' }, { result: 'ok' }]);
  t.equal(runs.length, 2);
  t.equal(state.holder, '');
  t.equal(clock.pending, 0);
});

t.test('what has changed is reconciled soon, and after a delay at the start', async (t) => {
  let wake = () => {};
  let ended = false;
  const { controller, clock, runs } = setUp({
    startDelay: 30_000,
    subscribe(call) {
      wake = call;
      return () => {
        ended = true;
      };
    },
  });
  controller.start();
  await pass(clock, 29_999);
  t.equal(runs.length, 0);
  await pass(clock, 1);
  t.equal(runs.length, 1);
  wake();
  await pass(clock, 1_000);
  t.equal(runs.length, 2);
  await controller.stop();
  t.ok(ended);
});

t.test('stopping ends a run, waits for nothing that is only read, and gives the lease back', async (t) => {
  const { state, leaseOf } = sharedLease();
  const { controller, clock, runs } = setUp({
    plans: [() => new Promise<Plan>(() => {})],
    lease: leaseOf('one'),
  });
  controller.start();
  await resolveNamespaces();
  await controller.stop();
  t.match(runs, [{ result: 'broken-off' }]);
  t.equal(state.holder, '');
  t.equal(clock.pending, 0, 'and nothing is left to happen');
});

t.test('stopping while the lease is requested starts no run and holds no lease', async (t) => {
  const { state, leaseOf } = sharedLease();
  const { controller, clock, signals } = setUp({ lease: leaseOf('one') });
  controller.start();
  await controller.stop();
  t.equal(signals.length, 0);
  t.equal(state.holder, '');
  t.equal(clock.pending, 0);
});

t.test('a replica that never held the lease releases nothing', async (t) => {
  const { state, leaseOf } = sharedLease();
  state.holder = 'another-replica';
  const { controller } = setUp({ lease: leaseOf('one') });
  controller.start();
  await resolveNamespaces();
  await controller.stop();
  t.equal(state.released, 0);
});
