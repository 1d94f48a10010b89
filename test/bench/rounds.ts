/**
 * Several at once, warmed up and then measured round by round. A ratio is of two contenders in one round, and what counts is
 * the median of the rounds.
 */
import type { Load, Shape } from './generator.ts';
import type { Serving } from './processes.ts';
import type { Site } from './site.ts';
import { median, type Spread, spreadOf } from './statistics.ts';
import { type Entrant, type Measured, playRound, takeTurn } from './turns.ts';

export interface Row {
  readonly contender: string;
  /** Of all rounds. */
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Microseconds. */
  readonly cpuPerRequest: number;
  readonly keystoneCallsPer1000: number;
  /** Megabytes after the first and after the last round. */
  readonly residentMB: readonly [number, number];
  /** The first one's requests per second over this one's, pair by pair. */
  readonly ratio: Spread;
  /** This one's CPU per request over the first one's. */
  readonly cpuRatio: Spread;
}

export interface Entry {
  readonly name: string;
  readonly shape: Shape;
  /** Seconds of load before the first round. */
  readonly warmUp: number;
  start(): Promise<Serving>;
}

export interface RoundsOptions {
  readonly site: Site;
  readonly entries: readonly Entry[];
  readonly load: Load;
  readonly rounds: number;
  /** Of load for each, in a round. */
  readonly seconds: number;
  /** Called after warming up and after the last round. */
  readonly atBounds?: () => Promise<void>;
}

/** @returns a row for each entry, in their order. @throws where requests are refused, or none goes through */
export async function playRounds(options: RoundsOptions): Promise<Row[]> {
  const { site, entries, load, rounds, seconds, atBounds } = options;
  const servings: Serving[] = [];
  const entrants: Entrant[] = [];
  const results: Measured[][] = [];
  try {
    for (const { start } of entries) servings.push(await start());
    for (const [index, serving] of servings.entries()) {
      const { shape, warmUp } = entries[index] ?? missing();
      const generator = await load({ ...shape, folder: site.folder, port: serving.port });
      const entrant = { serving, generator };
      entrants.push(entrant);
      await takeTurn(entrant, warmUp);
    }
    await atBounds?.();
    for (let round = 0; round < rounds; round += 1)
      results.push(await playRound(entrants, seconds, site.counts));
    await atBounds?.();
    for (const { generator } of entrants) await generator.finish();
  } finally {
    for (const { generator } of entrants) generator.kill();
    for (const serving of servings) await serving.stop();
  }
  return entries.map(({ name }, index) => rowOf(name, index, results));
}

function rowOf(contender: string, index: number, rounds: readonly (readonly Measured[])[]): Row {
  const own = rounds.map((round) => round[index] ?? missing());
  const pairs = rounds.map((round, at) => ({ first: round[0] ?? missing(), own: own[at] ?? missing() }));
  const sum = (pick: (one: Measured) => number) => own.reduce((total, one) => total + pick(one), 0);
  const requests = sum((one) => one.requests);
  return {
    contender,
    requests,
    requestsPerSecond: median(own.map(pace)),
    cpuPerRequest: median(own.map(cost)),
    keystoneCallsPer1000: (1_000 * sum((one) => one.keystoneCalls)) / requests,
    residentMB: [(own[0]?.resident ?? 0) / 1e6, (own.at(-1)?.resident ?? 0) / 1e6],
    ratio: spreadOf(pairs.map(({ first, own }) => pace(first) / pace(own))),
    cpuRatio: spreadOf(pairs.map(({ first, own }) => cost(own) / cost(first))),
  };
}

const pace = ({ requests, seconds }: Measured) => requests / seconds;
const cost = ({ requests, cpuSeconds }: Measured) => (cpuSeconds * 1e6) / requests;

function missing(): never {
  throw new Error('a round lacks a contender');
}
