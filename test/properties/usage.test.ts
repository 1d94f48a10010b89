/**
 * Usage records survive failures of processes and files: whatever is served, killed, rotated, lost or read
 * twice, the sum equals that of the written records, and missing lines are reported.
 */
import fc from 'fast-check';
import t from 'tap';
import { UsageSums } from '../../src/cli/usage/usage-sums.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { observedRequest } from '../support/observed-request.ts';
import { infoOf, usageLine, type WritingMeter, writingMeter } from '../support/usage-lines.ts';

const MINUTE = 60_000;
const START = Date.parse('2026-11-26T12:00:00Z');
const info = infoOf('GET', '/api/v1/namespaces/default/pods');

/** Requests of a tenant at a process, time that passes, or a process that ends and is replaced. */
const step = fc.oneof(
  fc.record({ slot: fc.nat(2), tenant: fc.constantFrom('acme', 'globex'), count: fc.nat(5) }),
  fc.record({ seconds: fc.integer({ min: 1, max: 90 }) }),
  fc.record({ killed: fc.nat(2) }),
  fc.record({ stopped: fc.nat(2) }),
);

interface Served {
  /** Requests since the last line. */
  pending: Record<string, number>;
  meter: WritingMeter;
}

/** @returns all lines, and how many requests of each tenant they contain */
function serve(steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) {
  const clock = createFakeClock(START);
  const written: Record<string, number> = { acme: 0, globex: 0 };
  const meters: WritingMeter[] = [];
  const ended: WritingMeter[] = [];
  const start = (): Served => {
    const meter = writingMeter(`p${meters.length}`, clock);
    meters.push(meter);
    return { pending: {}, meter };
  };
  const slots = [start(), start(), start()];
  const write = (served: Served): void => {
    for (const [tenant, count] of Object.entries(served.pending))
      written[tenant] = (written[tenant] ?? 0) + count;
    served.pending = {};
  };
  const replace = (slot: number, isKilled: boolean): void => {
    const served = slots[slot];
    if (served === undefined) return;
    if (!isKilled) {
      served.meter.close();
      write(served);
    }
    ended.push({ ...served.meter, lines: [...served.meter.lines] });
    slots[slot] = start();
  };
  for (const action of [...steps, { stopped: 0 }, { stopped: 1 }, { stopped: 2 }]) {
    if ('killed' in action) replace(action.killed, true);
    else if ('stopped' in action) replace(action.stopped, false);
    else if ('seconds' in action) {
      const minute = Math.floor(clock.now() / MINUTE);
      clock.advance(action.seconds * 1_000);
      if (Math.floor(clock.now() / MINUTE) > minute) for (const served of slots) write(served);
    } else {
      const served = slots[action.slot];
      for (let n = 0; served !== undefined && n < action.count; n += 1) {
        served.meter.observer.responseComplete(
          observedRequest({ tenant: action.tenant, project: 'web', info }),
        );
        served.pending[action.tenant] = (served.pending[action.tenant] ?? 0) + 1;
      }
    }
  }
  return { lines: ended.flatMap(({ lines }) => lines), written };
}

const everything = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, by: 'tenant' } as const;

function sumOf(lines: readonly string[]) {
  const sums = new UsageSums(everything);
  for (const line of lines) sums.add(usageLine(line));
  const requests = Object.fromEntries(sums.rows().map(({ key, usage }) => [key[0], usage.listRequests]));
  return { sums, requests: { acme: 0, globex: 0, ...requests } };
}

t.test(
  'D530 the sum contains every served request except those in the last minute of a killed process',
  async (t) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.infiniteStream(fc.nat()), (steps, random) => {
        const { lines, written } = serve(steps);
        // In another order, and some lines twice.
        const shuffled = [...lines, ...lines.filter((_, at) => at % 3 === 0)]
          .map((line) => ({ line, at: random.next().value }))
          .sort((one, other) => one.at - other.at);
        t.same(sumOf(shuffled.map(({ line }) => line)).requests, written);
      }),
    );
  },
);

t.test('exactly the lost lines are reported as missing', async (t) => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 40 }),
      fc.array(fc.nat(200), { maxLength: 10 }),
      (steps, drawn) => {
        const { lines } = serve(steps);
        const lost = new Set(drawn.filter((at) => at < lines.length && !isLastOf(lines, at)));
        const { sums } = sumOf(lines.filter((_, at) => !lost.has(at)));
        const missing = sums.gaps().reduce((sum, gap) => sum + (gap.lines ?? 0), 0);
        t.equal(missing, lost.size);
      },
    ),
  );
});

/** Whether it is the last line of its process: if it is lost, the process is not known to have ended. */
function isLastOf(lines: readonly string[], at: number): boolean {
  const next = lines[at + 1];
  return next === undefined || usageLine(next).process !== usageLine(lines[at] ?? '').process;
}
