import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { KINDS } from '../../../../src/kubernetes/kubernetes-object.ts';
import type { ApplyResult } from '../../../../src/kubernetes/reconcile/apply.ts';
import { createController } from '../../../../src/kubernetes/reconcile/controller.ts';
import type { Deletion, Plan } from '../../../../src/kubernetes/reconcile/plan.ts';
import { type LogFields, silentLogger } from '../../../../src/lib/logger.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts';
import { recordedTelemetry } from '../../../support/recorded-telemetry.ts';

const INTERVAL = 300_000;
const NOTHING: Plan = { changes: [], refusals: [], unread: [], guarded: new Map(), unchanged: 3 };
const DONE: ApplyResult = { done: [], failures: [], heldBack: [] };
const DELETION: Deletion = {
  action: 'delete',
  kind: KINDS.Namespace,
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } },
  place: {},
  reason: 'for the test',
  isOwned: () => true,
};
const never = () => new Promise<Plan>(() => {});

interface SharedLease {
  holder: string;
  isUnavailable: boolean;
  released: number;
}

const sharedLease = () => ({ holder: '', isUnavailable: false, released: 0 });

interface Scripted {
  /** What planning does in each run; the last one repeats. */
  readonly plans?: readonly (() => Promise<Plan>)[];
  readonly result?: ApplyResult;
  readonly lease?: SharedLease;
  readonly once?: boolean;
}

function setUp(t: Test, { plans = [async () => NOTHING], result = DONE, ...given }: Scripted = {}) {
  const { lease = sharedLease(), once = false } = given;
  const clock = createFakeClock();
  const runs: string[] = [];
  const gauges = new Map<string, number>();
  const signals: AbortSignal[] = [];
  const applied: AbortSignal[] = [];
  const logged: { message: string; fields: LogFields }[] = [];
  const log = (fields: LogFields, message: string) => logged.push({ message, fields });
  let wake = () => {};
  const subscription = { isOver: false };
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
    lease: {
      async hold() {
        if (lease.isUnavailable) throw new Error('unavailable');
        if (lease.holder === '') lease.holder = 'one';
        return lease.holder === 'one';
      },
      async release() {
        lease.released += 1;
        lease.holder = '';
      },
    },
    once,
    subscribe(call) {
      wake = call;
      return () => {
        subscription.isOver = true;
      };
    },
    interval: INTERVAL,
    clock,
    random: { ...systemRandom, fraction: () => 0.5 },
    logger: { ...silentLogger, info: log, warn: log, error: log },
    telemetry: recordedTelemetry(runs, gauges),
  });
  t.teardown(() => controller.stop());
  return {
    controller,
    clock,
    lease,
    runs,
    gauges,
    signals,
    applied,
    logged,
    subscription,
    wake: () => wake(),
  };
}

/** Advances the clock from timer to timer. */
async function pass(clock: FakeClock, milliseconds: number) {
  await nextTurn();
  for (let left = milliseconds; left > 0; ) {
    const step = Math.min(left, Math.max(1, clock.untilNext));
    clock.advance(step);
    left -= step;
    await nextTurn();
  }
}

t.test('a controller runs at once, and then one interval after the end of each run', async (t) => {
  const slow = Promise.withResolvers<Plan>();
  const { controller, clock, runs, signals } = setUp(t, { plans: [() => slow.promise, async () => NOTHING] });
  controller.start();
  await pass(clock, 3 * INTERVAL);
  t.equal(signals.length, 1, 'no second run begins meanwhile');
  slow.resolve(NOTHING);
  await pass(clock, INTERVAL - 1);
  t.equal(signals.length, 1);
  await pass(clock, 1);
  t.match(runs, ['bindings ok', 'bindings ok']);
});

for (const [what, lose] of [
  ['is lost', (lease: SharedLease) => ({ ...lease, holder: 'another' })],
  ['cannot be read', (lease: SharedLease) => ({ ...lease, isUnavailable: true })],
] as const)
  t.test(`a run ends if the lease ${what}, and the next one begins when it is held again`, async (t) => {
    const { controller, clock, lease, signals, applied, runs } = setUp(t, {
      plans: [never, async () => NOTHING],
    });
    controller.start();
    await nextTurn();
    Object.assign(lease, lose(lease));
    await pass(clock, 10_000);
    t.equal(signals[0]?.aborted, true);
    t.ok(runs.includes('bindings broken-off'));
    await pass(clock, INTERVAL);
    t.equal(signals.length, 1);
    t.equal(applied.length, 0, 'nothing was changed');
    Object.assign(lease, sharedLease());
    await pass(clock, 10_000);
    t.equal(signals.length, 2);
  });

t.test('a metric says whether this replica is the leader', async (t) => {
  const { controller, clock, lease, gauges } = setUp(t);
  controller.start();
  await nextTurn();
  t.equal(gauges.get('stonegate_controller_leads'), 1);
  lease.holder = 'another';
  await pass(clock, 10_000);
  t.equal(gauges.get('stonegate_controller_leads'), 0);
});

t.test('a failing run is repeated with growing pauses, and logged once', async (t) => {
  const plan = () => Promise.reject(new StatusError('KeystoneUnavailable', 'Service Unavailable: gone'));
  const { controller, clock, runs, logged } = setUp(t, { plans: [plan] });
  controller.start();
  await nextTurn();
  const pauses: number[] = [];
  for (let passed = 0; runs.length < 10; passed += 250) {
    const before = runs.length;
    await pass(clock, 250);
    if (runs.length > before) pauses.push(passed + 250 - pauses.reduce((sum, each) => sum + each, 0));
  }
  t.same(pauses, [750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000, 45_000]);
  t.equal(logged.filter(({ message }) => message.includes('reconciling failed')).length, 1);
});

t.test('a programming error does not end the controller', async (t) => {
  const { controller, clock, runs } = setUp(t, {
    plans: [() => Promise.reject(new TypeError('no')), async () => NOTHING],
  });
  controller.start();
  await pass(clock, 10_000);
  t.match(runs, ['bindings error', 'bindings ok']);
});

t.test('changes are soon followed by one run', async (t) => {
  const { controller, clock, runs, wake, subscription } = setUp(t);
  controller.start();
  await nextTurn();
  wake();
  wake();
  await pass(clock, 1_000);
  t.equal(runs.length, 2);
  await pass(clock, INTERVAL / 2);
  t.equal(runs.length, 2);
  await controller.stop();
  t.ok(subscription.isOver);
});

t.test('under endless changes, the controller is still idle most of the time', async (t) => {
  const slow = Promise.withResolvers<Plan>();
  const { controller, clock, signals, wake } = setUp(t, { plans: [() => slow.promise, async () => NOTHING] });
  controller.start();
  await pass(clock, 2_000);
  wake();
  slow.resolve(NOTHING);
  for (let passed = 0; passed < 5_900; passed += 100) {
    await pass(clock, 100);
    wake();
  }
  t.equal(signals.length, 1, 'a run of two seconds is followed by a pause of six');
  await pass(clock, 200);
  t.equal(signals.length, 2);
});

t.test('deletions that are held back are logged once, with their places', async (t) => {
  const inWeb = { ...DELETION, place: { namespace: 'web' } };
  const plan: Plan = { ...NOTHING, changes: [inWeb, inWeb], guarded: new Map([['web', 7]]) };
  const { controller, clock, runs, gauges, logged } = setUp(t, {
    plans: [async () => plan],
    result: { ...DONE, heldBack: [inWeb, inWeb] },
  });
  controller.start();
  await pass(clock, 2 * INTERVAL);
  t.equal(runs[0], 'bindings held-back');
  t.equal(gauges.get('stonegate_controller_held_back'), 2);
  const waiting = logged.filter(({ message }) => message.includes('stonegate sync --force'));
  t.match(waiting, [{ fields: { heldBack: [{ place: { namespace: 'web' }, going: 2, there: 7 }] } }]);
  t.equal(waiting.length, 1);
});

t.test('a run is incomplete if a change failed or a source could not be read', async (t) => {
  for (const scripted of [
    { result: { ...DONE, failures: [{ change: DELETION, reason: 'no' }] } },
    { plans: [async () => ({ ...NOTHING, unread: [{ subject: 'x', reason: 'no' }] })] },
  ]) {
    const { controller, runs, gauges } = setUp(t, scripted);
    controller.start();
    await nextTurn();
    t.same(runs, ['bindings incomplete']);
    t.equal(gauges.get('stonegate_controller_failures'), 1);
  }
});

t.test('a controller whose desired state is empty ends after its first successful run', async (t) => {
  const plans = [() => Promise.reject(new TypeError('no')), async () => NOTHING];
  const { controller, clock, lease, runs } = setUp(t, { plans, once: true });
  controller.start();
  await pass(clock, 2 * INTERVAL);
  t.match(runs, ['bindings error', 'bindings ok']);
  t.equal(runs.length, 2);
  t.equal(lease.holder, '');
  t.equal(clock.pending, 0);
});

t.test('stopping cancels a run, does not wait for pending reads, and releases the lease', async (t) => {
  const { controller, clock, lease, runs } = setUp(t, { plans: [never] });
  controller.start();
  await nextTurn();
  await controller.stop();
  t.match(runs, ['bindings broken-off']);
  t.same([lease.holder, clock.pending], ['', 0]);
});

t.test('stopping while the lease is requested starts no run and holds no lease', async (t) => {
  const { controller, clock, lease, signals } = setUp(t);
  controller.start();
  await controller.stop();
  t.same([signals.length, lease.holder, clock.pending], [0, '', 0]);
});

t.test('a replica that never held the lease releases nothing', async (t) => {
  const lease = { ...sharedLease(), holder: 'another' };
  const { controller } = setUp(t, { lease });
  controller.start();
  await nextTurn();
  await controller.stop();
  t.equal(lease.released, 0);
});
