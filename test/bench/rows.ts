/**
 * What is said of a contender after its rounds. A ratio is of two contenders in one round, and what counts is
 * the median of the rounds.
 */
import { median, type Spread, spreadOf } from './statistics.ts';
import type { Measured } from './turns.ts';

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

/** @param index of the contender in each round; ratios are of the first to it */
export function rowOf(contender: string, index: number, rounds: readonly (readonly Measured[])[]): Row {
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
