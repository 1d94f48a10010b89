/**
 * Contenders in turn, round by round: what a neighbour on the machine takes away, it takes from all of a round. So what
 * counts is a round's ratio, and of the rounds the median.
 */
import type { Contender, StartOptions } from './contenders.ts';
import type { LoadOptions, LoadResult } from './load.ts';
import { cpuSeconds, residentBytes, type Serving } from './processes.ts';
import { median, type Spread, spreadOf } from './statistics.ts';

export interface Measured extends LoadResult {
  /** Of the contender's CPU, in microseconds. */
  readonly cpuPerRequest: number;
  /** Bytes, right after the load. */
  readonly resident: number;
}

export interface Row {
  readonly contender: string;
  readonly requestsPerSecond: number;
  readonly cpuPerRequest: number;
  readonly p50: number;
  readonly p99: number;
  /** Megabytes after the first and after the last round. */
  readonly residentMB: readonly [number, number];
  /** The subject's requests per second over this one's, pair by pair. */
  readonly ratio: Spread;
  /** This one's CPU per request over the subject's. */
  readonly cpuRatio: Spread;
}

export interface RoundsOptions extends StartOptions {
  readonly contenders: readonly Contender[];
  readonly rounds: number;
  /** Seconds of load before the first round: a JIT needs them. */
  readonly warmUp: number;
  readonly load: (options: LoadOptions) => Promise<LoadResult>;
  readonly shape: Omit<LoadOptions, 'port' | 'folder'>;
}

/** @returns a row for each contender; ratios are of the first to it */
export async function playRounds(options: RoundsOptions): Promise<Row[]> {
  const { contenders, rounds, load, shape, site } = options;
  const running: { contender: Contender; serving: Serving; results: Measured[] }[] = [];
  try {
    for (const contender of contenders)
      running.push({ contender, serving: await contender.start(options), results: [] });
    const measure = async (serving: Serving, seconds: number): Promise<Measured> => {
      const before = cpuSeconds(serving.pid);
      const result = await load({ ...shape, seconds, folder: site.folder, port: serving.port });
      const cpu = cpuSeconds(serving.pid) - before;
      return {
        ...result,
        cpuPerRequest: (cpu * 1e6) / result.requests,
        resident: residentBytes(serving.pid),
      };
    };
    for (const { serving } of running) await measure(serving, options.warmUp);
    for (let round = 0; round < rounds; round += 1)
      for (const { serving, results } of running) results.push(await measure(serving, shape.seconds));
  } finally {
    for (const { serving } of running) await serving.stop();
  }
  const subject = running[0]?.results ?? [];
  return running.map(({ contender, results }) => rowOf(contender.name, results, subject));
}

function rowOf(contender: string, results: readonly Measured[], subject: readonly Measured[]): Row {
  const pairs = results.flatMap((other, round) => {
    const ours = subject[round];
    return ours === undefined ? [] : [{ ours, other }];
  });
  const of = (pick: (result: Measured) => number) => median(results.map(pick));
  return {
    contender,
    requestsPerSecond: of((result) => result.requestsPerSecond),
    cpuPerRequest: of((result) => result.cpuPerRequest),
    p50: of((result) => result.p50),
    p99: of((result) => result.p99),
    residentMB: [megabytes(results[0]), megabytes(results.at(-1))],
    ratio: spreadOf(pairs.map(({ ours, other }) => ours.requestsPerSecond / other.requestsPerSecond)),
    cpuRatio: spreadOf(pairs.map(({ ours, other }) => other.cpuPerRequest / ours.cpuPerRequest)),
  };
}

function megabytes(result: Measured | undefined): number {
  return (result?.resident ?? 0) / 1e6;
}
