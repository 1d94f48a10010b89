/**
 * The scenarios of throughput: what is asked, of whom, and what the answer is held to.
 */
import {
  CONTENDERS,
  type Contender,
  caddy,
  haproxy,
  httpProxy,
  nginx,
  passThrough,
  stonegate,
} from './contenders.ts';
import { h2load, type LoadOptions, latencyAt, wrk } from './load.ts';
import { playRounds, type Row } from './rounds.ts';
import { keystoneToken, type Site, type UpstreamKind } from './site.ts';

export interface Target {
  readonly against: string;
  readonly atLeast: number;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly upstream: UpstreamKind;
  readonly http2: boolean;
  readonly contenders: readonly Contender[];
  readonly shape: Pick<LoadOptions, 'path' | 'connections' | 'bodyBytes'>;
  readonly rounds: number;
  readonly targets: readonly Target[];
}

const OBJECTS = '/api/v1/namespaces/default/configmaps';

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'get',
    title: '2 kB GET, TLS in front',
    upstream: 'plain',
    http2: false,
    contenders: CONTENDERS,
    shape: { path: `${OBJECTS}/small`, connections: 32 },
    rounds: 4,
    targets: [
      { against: 'pass-through', atLeast: 0.8 },
      { against: 'http-proxy', atLeast: 1.7 },
      { against: 'caddy', atLeast: 1 },
    ],
  },
  {
    name: 'tls',
    title: '2 kB GET, TLS on both sides, HTTP/1.1',
    upstream: 'tls',
    http2: false,
    contenders: [stonegate, passThrough, httpProxy, caddy, nginx, haproxy],
    shape: { path: `${OBJECTS}/small`, connections: 32 },
    rounds: 3,
    targets: [{ against: 'caddy', atLeast: 0.9 }],
  },
  {
    name: 'http2',
    title: '2 kB GET, TLS on both sides, HTTP/2 in front',
    upstream: 'tls',
    http2: true,
    contenders: [stonegate, passThrough, caddy, nginx, haproxy],
    shape: { path: `${OBJECTS}/small`, connections: 8 },
    rounds: 3,
    targets: [{ against: 'caddy', atLeast: 1.5 }],
  },
  {
    name: 'list',
    title: '1 MB list, TLS in front',
    upstream: 'plain',
    http2: false,
    contenders: [stonegate, passThrough, httpProxy, caddy],
    shape: { path: `${OBJECTS}/large`, connections: 8 },
    rounds: 2,
    targets: [{ against: 'pass-through', atLeast: 0.9 }],
  },
  {
    name: 'create',
    title: '1 MB create, TLS in front',
    upstream: 'plain',
    http2: false,
    contenders: [stonegate, passThrough, httpProxy, caddy],
    shape: { path: OBJECTS, connections: 8, bodyBytes: 1_000_000 },
    rounds: 2,
    targets: [],
  },
];

export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
}

export const FULL: Omit<Pace, 'rounds'> = { seconds: 3, warmUp: 9 };
export const QUICK: Pace = { rounds: 3, seconds: 4, warmUp: 9 };

export function play(
  site: Site,
  scenario: Scenario,
  contenders: readonly Contender[],
  pace: Pace,
): Promise<Row[]> {
  const { upstream, http2, shape } = scenario;
  return playRounds({
    site,
    upstream,
    http2,
    contenders,
    rounds: pace.rounds,
    warmUp: pace.warmUp,
    load: http2 ? h2load : wrk,
    shape: { ...shape, seconds: pace.seconds, tokens: [keystoneToken()] },
  });
}

export interface OfferedRow {
  readonly contender: string;
  readonly offered: number;
  readonly p50: number;
  readonly p99: number;
}

/** Everybody at the same load: 60 % of what Caddy manages. */
export async function playOffered(site: Site, caddyMaximum: number, seconds: number): Promise<OfferedRow[]> {
  const offered = Math.round(caddyMaximum * 0.6);
  const rows: OfferedRow[] = [];
  for (const contender of [stonegate, passThrough, caddy]) {
    const serving = await contender.start({ site, upstream: 'plain' });
    try {
      const options = {
        folder: site.folder,
        port: serving.port,
        path: `${OBJECTS}/small`,
        connections: 32,
        tokens: [keystoneToken()],
      };
      await wrk({ ...options, seconds: FULL.warmUp });
      rows.push({
        contender: contender.name,
        offered,
        ...(await latencyAt(offered, { ...options, seconds })),
      });
    } finally {
      await serving.stop();
    }
  }
  return rows;
}
