import t from 'tap';
import type { ApplyResult } from '../../../src/bindings/apply.ts';
import { createPeriodicProvisioning } from '../../../src/bindings/periodic.ts';
import type { Plan } from '../../../src/bindings/plan.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import type { Lease } from '../../../src/lib/lease.ts';
import { type LogFields, silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry, type ProvisioningRun } from '../../../src/lib/telemetry.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';

const INTERVAL = 300_000;
const NOTHING: Plan = {
  changes: [],
  refusals: [],
  existingByPlace: new Map(),
  unchanged: 3,
};
const DONE: ApplyResult = { done: 0, failures: [], heldBack: [] };
const DELETION = {
  action: 'delete',
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } },
  place: {},
  reason: 'for the test',
} as const;

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
}

function setUp({ plans = [async () => NOTHING], result = DONE, ...given }: Scripted = {}) {
  const clock = given.clock ?? createFakeClock();
  const runs: ProvisioningRun[] = [];
  const signals: AbortSignal[] = [];
  const applied: { readonly force: boolean; readonly signal: AbortSignal }[] = [];
  const logged: string[] = [];
  const told: LogFields[] = [];
  const say = (fields: LogFields, message: string) => {
    told.push(fields);
    logged.push(message);
  };
  const periodic = createPeriodicProvisioning({
    provisioning: {
      plan(signal) {
        const plan = plans[Math.min(signals.length, plans.length - 1)];
        signals.push(signal);
        return plan === undefined ? Promise.resolve(NOTHING) : plan();
      },
      async apply(_plan, options) {
        applied.push(options);
        return result;
      },
    },
    lease: given.lease ?? sharedLease().leaseOf('only'),
    interval: INTERVAL,
    clock,
    random: { ...systemRandom, fraction: () => 0.5 },
    logger: { ...silentLogger, info: say, warn: say, error: say },
    telemetry: { ...noTelemetry, provisioned: (run) => runs.push(run) },
  });
  return { periodic, clock, runs, signals, applied, logged, told };
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
  const { periodic, clock, runs } = setUp();
  periodic.start();
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
    const { periodic, clock, signals } = setUp({ plans: [() => slow.promise, async () => NOTHING] });
    periodic.start();
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
  one.periodic.start();
  other.periodic.start();
  await pass(clock, 5 * INTERVAL);
  t.ok(one.runs.length >= 5);
  t.equal(other.runs.length, 0);
});

t.test('after a clean shutdown of the holder another replica continues at once', async (t) => {
  const clock = createFakeClock();
  const { leaseOf } = sharedLease();
  const [one, other] = [setUp({ clock, lease: leaseOf('one') }), setUp({ clock, lease: leaseOf('other') })];
  one.periodic.start();
  other.periodic.start();
  await resolveNamespaces();
  await one.periodic.stop();
  await pass(clock, 10_000);
  t.equal(other.runs.length, 1);
});

t.test('a lease that is lost in the midst of a run ends the run', async (t) => {
  const { state, leaseOf } = sharedLease();
  const plans = [() => new Promise<Plan>(() => {}), async () => NOTHING];
  const { periodic, clock, signals, applied, runs } = setUp({ plans, lease: leaseOf('one') });
  periodic.start();
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
  const { periodic, clock, runs } = setUp({ lease: leaseOf('one') });
  periodic.start();
  await pass(clock, 2 * INTERVAL);
  t.equal(runs.length, 0);
  state.away = false;
  await pass(clock, 10_000);
  t.equal(runs.length, 1);
});

t.test('a run that fails is tried again soon, then less and less often', async (t) => {
  const plan = () => Promise.reject(new StatusError('KeystoneUnavailable', 'Service Unavailable: gone'));
  const { periodic, clock, runs, logged } = setUp({ plans: [plan] });
  periodic.start();
  await resolveNamespaces();
  const at: number[] = [];
  for (let passed = 0; passed < 3 * INTERVAL; passed += 1_000) {
    const before = runs.length;
    await pass(clock, 1_000);
    if (runs.length > before) at.push(passed + 1_000);
  }
  t.same(at.slice(0, 4), [8_000, 23_000, 53_000, 113_000]);
  t.equal(runs.length, 8, 'and no less often than the interval');
  t.equal(logged.filter((message) => message.includes('provisioning failed')).length, 1);
});

t.test('a programming error does not end the loop', async (t) => {
  const plans = [() => Promise.reject(new TypeError('no')), async () => NOTHING];
  const { periodic, clock, runs } = setUp({ plans });
  periodic.start();
  await pass(clock, 10_000);
  t.match(runs, [{ result: 'error' }, { result: 'ok' }]);
});

t.test(
  'nothing is ever forced, and removals that are held back are logged with their namespaces',
  async (t) => {
    const inWeb = { ...DELETION, place: { namespace: 'web' } };
    const plan: Plan = {
      ...NOTHING,
      changes: [inWeb, inWeb],
      existingByPlace: new Map([
        ['/', 3],
        ['/web', 7],
      ]),
    };
    const { periodic, clock, runs, applied, logged, told } = setUp({
      plans: [async () => plan],
      result: { ...DONE, heldBack: plan.changes },
    });
    periodic.start();
    await pass(clock, 2 * INTERVAL);
    t.ok(applied.every(({ force }) => !force));
    t.match(runs[0], { result: 'held-back', heldBack: 2, changes: { delete: 0 } });
    t.equal(logged.filter((message) => message.includes('stonegate sync --force')).length, 1);
    const waiting = told.filter((fields) => 'losses' in fields);
    t.match(waiting, [{ heldBack: 2, places: 1, losses: [{ namespace: 'web', going: 2, there: 7 }] }]);
  },
);

t.test('what failed of a run counts as not done', async (t) => {
  const plan: Plan = { ...NOTHING, changes: [DELETION, { ...DELETION, action: 'create' }] };
  const result = { ...DONE, failures: [{ change: DELETION, reason: 'no' }] };
  const { periodic, runs } = setUp({ plans: [async () => plan], result });
  periodic.start();
  await resolveNamespaces();
  t.match(runs, [{ result: 'incomplete', changes: { create: 1, update: 0, delete: 0 } }]);
});

t.test('stopping ends a run, waits for nothing that is only read, and gives the lease back', async (t) => {
  const { state, leaseOf } = sharedLease();
  const { periodic, clock, runs } = setUp({
    plans: [() => new Promise<Plan>(() => {})],
    lease: leaseOf('one'),
  });
  periodic.start();
  await resolveNamespaces();
  await periodic.stop();
  t.match(runs, [{ result: 'broken-off' }]);
  t.equal(state.holder, '');
  t.equal(clock.pending, 0, 'and nothing is left to happen');
});

t.test('stopping while the lease is requested starts no run and holds no lease', async (t) => {
  const { state, leaseOf } = sharedLease();
  const { periodic, clock, signals } = setUp({ lease: leaseOf('one') });
  periodic.start();
  await periodic.stop();
  t.equal(signals.length, 0);
  t.equal(state.holder, '');
  t.equal(clock.pending, 0);
});

t.test('a replica that never held the lease releases nothing', async (t) => {
  const { state, leaseOf } = sharedLease();
  state.holder = 'another-replica';
  const { periodic } = setUp({ lease: leaseOf('one') });
  periodic.start();
  await resolveNamespaces();
  await periodic.stop();
  t.equal(state.released, 0);
});
