/**
 * Contenders run in turns of a tenth of a second, and in reverse order in every second pass, so that other
 * load on the machine affects all contenders of a round alike. A turn ends when its contender has responded
 * to all pending requests, so that none works during another's turn.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Generator } from './generator.ts';
import type { Serving } from './processes.ts';
import type { Counts } from './site.ts';
import { cpuSeconds, residentBytes, untilAtRest } from './usage.ts';

export interface Entrant {
  readonly serving: Serving;
  /** Running, and stopped between turns. */
  readonly generator: Generator;
}

/** Of one contender in one round. */
export interface Measured extends Counts {
  /** The sum of its turns. */
  readonly seconds: number;
  /** CPU of the whole round, since work that a contender defers counts too. */
  readonly cpuSeconds: number;
  /** Bytes, at the end. */
  readonly resident: number;
}

export const TURN_SECONDS = 0.1;

/**
 * @param seconds each contender's generator is let run
 * @param turnSeconds of one turn
 * @param count what the upstream and Keystone have seen so far: requests are counted where all of them arrive
 * @returns one for each entrant, in their order
 */
export async function playRound(
  entrants: readonly Entrant[],
  seconds: number,
  turnSeconds: number,
  count: () => Promise<Counts>,
): Promise<Measured[]> {
  const totals = entrants.map((entrant) => ({
    entrant,
    cpuBefore: cpuSeconds(entrant.serving.pid),
    seconds: 0,
    requests: 0,
    keystoneCalls: 0,
  }));
  const order = [...totals];
  let before = await count();
  for (let turn = 0; turn < Math.round(seconds / turnSeconds); turn += 1) {
    for (const total of order) {
      total.seconds += await takeTurn(total.entrant, turnSeconds);
      const after = await count();
      total.requests += after.requests - before.requests;
      total.keystoneCalls += after.keystoneCalls - before.keystoneCalls;
      before = after;
    }
    order.reverse();
  }
  return totals.map(({ entrant: { serving }, cpuBefore, ...total }) => {
    if (total.requests === 0) throw new Error(`no request went through:\n${serving.output()}`);
    return {
      ...total,
      cpuSeconds: cpuSeconds(serving.pid) - cpuBefore,
      resident: residentBytes(serving.pid),
    };
  });
}

/** @returns the seconds until the last response */
export async function takeTurn({ serving, generator }: Entrant, seconds: number): Promise<number> {
  const began = performance.now();
  generator.resume();
  await pause(seconds * 1_000);
  generator.suspend();
  const atRest = await untilAtRest(serving.pid);
  serving.tidy?.();
  return (atRest - began) / 1_000;
}
