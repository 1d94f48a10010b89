/** A scenario of throughput, played at a pace. */
import { keystoneToken } from './configuration.ts';
import type { Contender } from './contenders/contender.ts';
import { h2load } from './h2load.ts';
import { playRounds } from './rounds.ts';
import type { Row } from './rows.ts';
import type { Scenario } from './scenarios.ts';
import type { Site } from './site.ts';
import { wrk } from './wrk.ts';

export interface Pace {
  readonly rounds: number;
  /** Of load for each contender, in a round. */
  readonly seconds: number;
}

/** Seconds of load until Node has compiled what is run often; the same for all. */
export const WARM_UP = 9;

export const ROUND_SECONDS = 2;
export const QUICK: Pace = { rounds: 5, seconds: ROUND_SECONDS };

/** @returns a row for each contender; ratios are of the first to it */
export function play(
  site: Site,
  scenario: Scenario,
  contenders: readonly Contender[],
  pace: Pace,
): Promise<Row[]> {
  const { upstream, http2, shape } = scenario;
  return playRounds({
    ...pace,
    site,
    load: http2 ? h2load : wrk,
    warmUp: WARM_UP,
    entries: contenders.map((contender) => ({
      name: contender.name,
      shape: { ...shape, tokens: [keystoneToken()] },
      start: () => contender.start({ site, upstream, http2 }),
    })),
  });
}
