/**
 * The scenarios of throughput: what is asked, of whom, and what the answer is held to.
 */

import type { Contender } from './contenders/contender.ts';
import { caddy, httpProxy, httpProxy3, passThrough } from './contenders/others.ts';
import { stonegate, stonegateOf, stonegateWithLimits, stonegateWithRedis } from './contenders/stonegate.ts';
import type { Shape } from './generator.ts';
import type { UpstreamKind } from './site.ts';

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
  readonly shape: Omit<Shape, 'tokens'>;
  readonly rounds: number;
  /** A tenth of a second without it. */
  readonly turnSeconds?: number;
  readonly targets: readonly Target[];
}

const OBJECTS = '/api/v1/namespaces/default/configmaps';

/** As much as kubectl and controllers ask most of the time. */
export const SMALL = { path: `${OBJECTS}/small`, connections: 32 };

export const GET: Scenario = {
  name: 'get',
  title: '2 kB GET, TLS in front',
  upstream: 'plain',
  http2: false,
  contenders: [stonegate, passThrough, caddy, httpProxy, httpProxy3],
  shape: SMALL,
  rounds: 5,
  targets: [
    { against: 'pass-through', atLeast: 0.8 },
    { against: 'caddy', atLeast: 1.25 },
  ],
};

export const SCENARIOS: readonly Scenario[] = [
  GET,
  {
    name: 'tls',
    title: '2 kB GET, TLS on both sides, HTTP/1.1',
    upstream: 'tls',
    http2: false,
    contenders: [stonegate, passThrough, caddy],
    shape: SMALL,
    rounds: 3,
    targets: [{ against: 'caddy', atLeast: 1.2 }],
  },
  {
    name: 'http2',
    title: '2 kB GET, TLS on both sides, HTTP/2 in front',
    upstream: 'tls',
    http2: true,
    contenders: [stonegate, passThrough, caddy],
    shape: { path: `${OBJECTS}/small`, connections: 8 },
    rounds: 3,
    targets: [{ against: 'caddy', atLeast: 2 }],
  },
  {
    name: 'list',
    title: '1 MB list, TLS in front',
    upstream: 'plain',
    http2: false,
    contenders: [stonegate, passThrough, caddy],
    shape: { path: `${OBJECTS}/large`, connections: 8 },
    rounds: 4,
    targets: [{ against: 'pass-through', atLeast: 1.25 }],
  },
  {
    name: 'redis',
    title: '2 kB GET, Redis off and on',
    upstream: 'plain',
    http2: false,
    contenders: [stonegate, stonegateWithRedis],
    shape: SMALL,
    rounds: 3,
    targets: [],
  },
  {
    name: 'limits',
    title: '2 kB GET, with rates of its tenant and its user and without',
    upstream: 'plain',
    http2: false,
    contenders: [stonegateWithLimits, stonegateWithRedis],
    shape: SMALL,
    rounds: 9,
    // Tokens are taken for 0.4 s: the cost of a load that goes on is wanted.
    turnSeconds: 1,
    // At most 3 % more CPU.
    targets: [{ against: 'with Redis', atLeast: 0.97 }],
  },
  {
    name: 'workers',
    title: '2 kB GET, one and two workers',
    upstream: 'plain',
    http2: false,
    contenders: [stonegateOf(1), stonegateOf(2)],
    shape: SMALL,
    rounds: 3,
    targets: [],
  },
];
