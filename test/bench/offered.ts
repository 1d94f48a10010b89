/**
 * What a person waits at the same offered load for everybody: 60 % of what Caddy manages. Where a proxy is at its limit,
 * latency says nothing but how many connections wait.
 */

import { keystoneToken } from './configuration.ts';
import { caddy } from './contenders/caddy.ts';
import { passThrough } from './contenders/node.ts';
import { stonegate } from './contenders/stonegate.ts';
import { loadFor } from './generator.ts';
import { latencyAt } from './h2load.ts';
import { play, ROUND_SECONDS, WARM_UP } from './play.ts';
import { GET, SMALL } from './scenarios.ts';
import type { Site } from './site.ts';
import { wrk } from './wrk.ts';

export interface OfferedRow {
  readonly contender: string;
  /** Requests per second. */
  readonly offered: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const SHARE = 0.6;

/** @param known Caddy's maximum in requests per second, where it was measured before */
export async function measureOffered(site: Site, seconds: number, known?: number): Promise<OfferedRow[]> {
  const maximum = known ?? (await maximumOfCaddy(site));
  const offered = Math.round(maximum * SHARE);
  const rows: OfferedRow[] = [];
  for (const contender of [stonegate, passThrough, caddy]) {
    const serving = await contender.start({ site, upstream: 'plain' });
    try {
      const options = { ...SMALL, folder: site.folder, port: serving.port, tokens: [keystoneToken()] };
      await loadFor(WARM_UP, wrk, options);
      rows.push({ contender: contender.name, offered, ...(await latencyAt(offered, seconds, options)) });
    } finally {
      await serving.stop();
    }
  }
  return rows;
}

async function maximumOfCaddy(site: Site): Promise<number> {
  const [row] = await play(site, GET, [caddy], { rounds: 1, seconds: ROUND_SECONDS });
  if (row === undefined) throw new Error('Caddy was not measured');
  return row.requestsPerSecond;
}
