/** Compares measurements with their targets, a line for each. */
import { passThrough } from './contenders/others.ts';
import { stonegate } from './contenders/stonegate.ts';
import type { FirstSight } from './first-sight.ts';
import type { Life } from './life.ts';
import { show } from './report.ts';
import type { Row } from './rows.ts';
import type { Scenario } from './scenarios.ts';
import type { WatchRow } from './watches.ts';

export function throughputVerdicts({ targets }: Scenario, rows: readonly Row[]): string[] {
  return targets.flatMap(({ against, atLeast }) => {
    const row = rows.find(({ contender }) => contender === against);
    if (row === undefined) return [];
    const medians = `${show(row.ratio.median)} (by CPU ${show(row.cpuRatio.median)})`;
    return [verdict(worse(row) >= atLeast, `${medians} of ${against}, at least ${atLeast} wanted of both`)];
  });
}

/**
 * Both ratios must do: that of requests per second hides what a contender costs where the load's core is the
 * limit.
 */
export function worse({ ratio, cpuRatio }: Row): number {
  return Math.min(ratio.median, cpuRatio.median);
}

const MEMORY_AT_MOST = 1.2;
const ADDED_BELOW_MS = 10;

export function watchVerdicts(rows: readonly WatchRow[]): string[] {
  return rows
    .filter(({ contender }) => contender === stonegate.name)
    .flatMap(({ transport, openMB, p99Added = Number.NaN }) => {
      const yardstick = rows.find((row) => row.transport === transport && row.contender === passThrough.name);
      const memory = openMB / (yardstick?.openMB ?? Number.NaN);
      return [
        verdict(
          memory <= MEMORY_AT_MOST,
          `${show(memory)} of the pass-through's memory, at most ${MEMORY_AT_MOST} wanted, ${transport}`,
        ),
        verdict(
          p99Added < ADDED_BELOW_MS,
          `p99 ${show(p99Added)} ms above its, below ${ADDED_BELOW_MS} wanted, ${transport}`,
        ),
      ];
    });
}

const FIRST_SIGHT_AT_MOST_US = 1_000;

export function firstSightVerdicts({ firstRequest, callsPerTokenAlone }: FirstSight): string[] {
  const calls = (number: number, who: string) =>
    verdict(number <= 1, `${show(number)} calls of Keystone for a token, at most 1 wanted, ${who}`);
  return [
    verdict(
      firstRequest <= FIRST_SIGHT_AT_MOST_US,
      `${show(firstRequest)} µs for a JWT's first request, at most ${FIRST_SIGHT_AT_MOST_US} wanted`,
    ),
    calls(callsPerTokenAlone, 'one process'),
  ];
}

const START_BELOW_SECONDS = 1.5;

export function lifeVerdicts({ startToReady, idleWakeUpsPerSecond }: Life): string[] {
  return [
    verdict(
      startToReady < START_BELOW_SECONDS,
      `${show(startToReady)} s from start to ready, less than ${START_BELOW_SECONDS} wanted`,
    ),
    verdict(
      idleWakeUpsPerSecond <= 1,
      `${show(idleWakeUpsPerSecond)} wake-ups a second when idle, at most 1 wanted`,
    ),
  ];
}

export function verdict(reached: boolean, measured: string): string {
  return `${reached ? 'reached' : 'NOT reached'}: ${measured}`;
}
