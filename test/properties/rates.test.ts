/**
 * Whatever clients and Redis do, all processes together admit at most a burst plus what the rate allows, in
 * every period. However often Redis is slow or lost, that adds one burst in all; each time that it is emptied
 * adds one, until the processes notice it.
 */
import fc from 'fast-check';
import t from 'tap';
import { createRatesSite, EXEC, GET, LIST, WRITE } from '../support/rates/processes.ts';

const REQUESTS = [
  [GET, 1],
  [WRITE, 2],
  [LIST, 5],
  [EXEC, 10],
] as const;
const PROCESSES = 3;

/** Every share can pay for the most expensive request. Some accounts refill before taken tokens expire. */
const rate = fc
  .record({
    burst: fc.integer({ min: 10 * PROCESSES, max: 200 }),
    secondsToFull: fc.constantFrom(0.1, 0.3, 0.5, 1, 10, 1_000),
  })
  .map(({ burst, secondsToFull }) => ({ perSecond: burst / secondsToFull, burst }));

const request = fc.record({
  kind: fc.constant('request' as const),
  process: fc.nat({ max: PROCESSES - 1 }),
  user: fc.constantFrom('alice', 'bob'),
  what: fc.nat({ max: REQUESTS.length - 1 }),
  times: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 300 })),
});
/** A client that sends requests continuously: the process takes tokens for it in advance. */
const stream = fc.record({
  kind: fc.constant('stream' as const),
  process: fc.nat({ max: PROCESSES - 1 }),
  user: fc.constantFrom('alice', 'bob'),
  every: fc.integer({ min: 1, max: 30 }),
  times: fc.integer({ min: 5, max: 40 }),
});
const pass = fc.record({
  kind: fc.constant('pass' as const),
  milliseconds: fc.oneof(fc.integer({ min: 1, max: 420 }), fc.integer({ min: 1, max: 3_000 })),
});
const fault = fc.record({
  kind: fc.constant('fault' as const),
  what: fc.constantFrom('away' as const, 'late' as const, 'back' as const, 'empty' as const),
});

type Step =
  | (typeof request extends fc.Arbitrary<infer R> ? R : never)
  | (typeof stream extends fc.Arbitrary<infer S> ? S : never)
  | (typeof pass extends fc.Arbitrary<infer P> ? P : never)
  | (typeof fault extends fc.Arbitrary<infer F> ? F : never);

interface Admission {
  readonly at: number;
  readonly cost: number;
  readonly user: string;
}

/**
 * In milliseconds. A process notices a break at its first request after it or, after five commands in a row,
 * a fifth of a second later.
 */
const NOTICE = 200;

interface Break {
  readonly at: number;
  /** By process; undefined if it has had no request since the break. */
  readonly noticedAt: (number | undefined)[];
}

interface Limits {
  readonly perTenant: { readonly perSecond: number; readonly burst: number };
  readonly perUser: { readonly perSecond: number; readonly burst: number };
}

/** Runs each step after the responses to the earlier ones, except those that need time to pass. */
async function run({ perTenant, perUser }: Limits, steps: readonly Step[]) {
  const rates = { perTenant, perUser };
  const { ask, clock, accounts, processes } = createRatesSite({ rates, processes: PROCESSES, redis: true });
  const admissions: Admission[] = [];
  let isEverLost = false;
  /** When Redis was emptied, and the latest time at which each process noticed it. */
  const breaks: Break[] = [];
  const noticed = (process: number): void => {
    for (const { noticedAt } of breaks) noticedAt[process] ??= clock.now() + NOTICE;
  };
  const send = (what: number, user: string, process: number): void => {
    noticed(process);
    const [sent, cost] = REQUESTS[what] ?? REQUESTS[0];
    void ask(sent, { user, by: processes[process] }).then((error) => {
      if (error === undefined) admissions.push({ at: clock.now(), cost, user });
    });
  };
  for (const step of steps) {
    if (step.kind === 'pass') clock.advance(step.milliseconds);
    else if (step.kind === 'stream')
      for (let i = 0; i < step.times; i += 1) {
        send(0, step.user, step.process);
        await settled();
        clock.advance(step.every);
      }
    else if (step.kind === 'fault') {
      if (step.what === 'away' || step.what === 'late') isEverLost = true;
      accounts.state = step.what === 'empty' ? 'back' : step.what;
      if (step.what === 'empty') {
        breaks.push({ at: clock.now(), noticedAt: Array.from({ length: PROCESSES }) });
        accounts.keys.clear();
      }
    } else for (let i = 0; i < step.times; i += 1) send(step.what, step.user, step.process);
    await settled();
  }
  return { admissions, breaks, isEverLost };
}

type Run = Awaited<ReturnType<typeof run>>;

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Whether every process had noticed the break before this time. */
function isOver({ noticedAt }: Break, time: number): boolean {
  return noticedAt.every((at) => at !== undefined && at < time);
}

/** The first period in which too much was admitted; undefined if there is none. */
function excess(
  admissions: readonly Admission[],
  { breaks, isEverLost }: Omit<Run, 'admissions'>,
  { perSecond, burst }: Limits['perTenant'],
): string | undefined {
  for (const [from, { at: start }] of admissions.entries()) {
    let sum = 0;
    for (const { at: end, cost } of admissions.slice(from)) {
      sum += cost;
      const bursts =
        (isEverLost ? 2 : 1) + breaks.filter((one) => one.at <= end && !isOver(one, start)).length;
      const allowed = bursts * burst + (perSecond * (end - start)) / 1_000;
      if (sum > allowed + 0.001) return `${sum} within ${end - start} ms, more than ${allowed}`;
    }
  }
  return undefined;
}

function holds(limits: Limits, { admissions, ...faults }: Run): void {
  t.equal(excess(admissions, faults, limits.perTenant), undefined, 'the tenant stays within its rate');
  for (const user of ['alice', 'bob']) {
    const own = admissions.filter((one) => one.user === user);
    t.equal(excess(own, faults, limits.perUser), undefined, user);
  }
}

const limits = fc.record({ perTenant: rate, perUser: rate });

t.test(
  'D503 three processes together admit no more than the burst and the rate, in every period',
  async () => {
    const steps = fc.array(fc.oneof(request, stream, pass), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(limits, steps, async (given, taken) => holds(given, await run(given, taken))),
      { numRuns: 300 },
    );
  },
);

t.test('however often Redis is slow or lost, that adds at most one burst in all', async () => {
  const steps = fc.array(
    fc.oneof(...[request, stream, pass].map((arbitrary) => ({ arbitrary, weight: 3 })), {
      arbitrary: fault,
      weight: 1,
    }),
    {
      minLength: 1,
      maxLength: 30,
    },
  );
  await fc.assert(
    fc.asyncProperty(limits, steps, async (given, taken) => holds(given, await run(given, taken))),
    { numRuns: 300 },
  );
});
