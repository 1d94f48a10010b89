/**
 * Latency at the same offered load for all contenders: 60 % of Caddy's maximum. Where a proxy is at its
 * limit, latency says nothing but how many connections wait. Contenders are all up and take turns of some
 * seconds.
 */
import { keystoneToken } from './configuration.ts';
import { caddy } from './contenders/caddy.ts';
import { passThrough } from './contenders/node.ts';
import { stonegate } from './contenders/stonegate.ts';
import { type LoadOptions, loadFor } from './generator.ts';
import { latenciesAt } from './h2load.ts';
import { play, ROUND_SECONDS, WARM_UP } from './play.ts';
import type { Serving } from './processes.ts';
import { GET, SMALL } from './scenarios.ts';
import type { Site } from './site.ts';
import { median, quantile, type Spread, spreadOf } from './statistics.ts';
import { wrk } from './wrk.ts';

export interface OfferedRow {
  readonly contender: string;
  /**
   * Requests per second, and how many were answered of them: who does not keep up has fewer, and waits
   * unseen.
   */
  readonly offered: number;
  readonly answered: number;
  /** Milliseconds, of the rounds. */
  readonly p50: Spread;
  readonly p99: Spread;
}

const SHARE = 0.6;
const ROUNDS = 7;
/** In turn too. */
const WARM_UP_PARTS = 4;

/** @param known Caddy's maximum in requests per second, where it was measured before */
export async function measureOffered(site: Site, known?: number): Promise<OfferedRow[]> {
  const offered = Math.round((known ?? (await maximumOfCaddy(site))) * SHARE);
  const servings: Serving[] = [];
  try {
    const entrants: { contender: string; serving: Serving; options: LoadOptions; rounds: number[][] }[] = [];
    for (const contender of [stonegate, passThrough, caddy]) {
      const serving = await contender.start({ site, upstream: 'plain' });
      servings.push(serving);
      const options = { ...SMALL, folder: site.folder, port: serving.port, tokens: [keystoneToken()] };
      entrants.push({ contender: contender.name, serving, options, rounds: [] });
    }
    const order = [...entrants];
    for (let part = 0; part < WARM_UP_PARTS; part += 1)
      for (const { options } of order) await loadFor(WARM_UP / WARM_UP_PARTS, wrk, options);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { serving, options, rounds } of order) {
        rounds.push(await latenciesAt(offered, ROUND_SECONDS, options));
        serving.tidy?.();
      }
      order.reverse();
    }
    return entrants.map(({ contender, rounds }) => {
      const of = (q: number) => spreadOf(rounds.map((latencies) => quantile(latencies, q)));
      const answered = median(rounds.map(({ length }) => length)) / ROUND_SECONDS;
      return { contender, offered, answered, p50: of(0.5), p99: of(0.99) };
    });
  } finally {
    for (const serving of servings) await serving.stop();
  }
}

async function maximumOfCaddy(site: Site): Promise<number> {
  const [row] = await play(site, GET, [caddy], { rounds: 1, seconds: ROUND_SECONDS });
  if (row === undefined) throw new Error('Caddy was not measured');
  return row.requestsPerSecond;
}
