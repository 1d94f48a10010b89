/**
 * Cost as it grows: CPU of a request to Stonegate over the number of users, tenants and groups and the length of tokens,
 * with what Keystone and Redis see of a thousand requests, and over workers.
 */
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { startStonegate } from './contenders.ts';
import { redisConfiguration } from './first-sight.ts';
import { wrk } from './load.ts';
import { ANY_CORE, CONTENDER_CORE, cpuSeconds, residentBytes } from './processes.ts';
import { keystoneToken, type Site } from './site.ts';

export interface GrowthRow {
  readonly what: string;
  readonly requestsPerSecond: number;
  readonly cpuPerRequest: number;
  readonly residentMB: number;
  readonly keystoneCallsPer1000: number;
  readonly redisCommandsPer1000: number;
}

interface Variant {
  readonly what: string;
  readonly tokens: readonly string[];
  readonly redis?: boolean;
  readonly workers?: number;
}

const many = (count: number, make: (n: number) => string) => Array.from({ length: count }, (_, n) => make(n));

const VARIANTS: readonly Variant[] = [
  ...[1, 100, 1_000, 10_000].map((count) => ({
    what: `${count} users`,
    tokens: many(count, (n) => keystoneToken({ user: `user-${n}` })),
  })),
  ...[1, 100, 10_000].map((count) => ({
    what: `${count} tenants`,
    tokens: many(count, (n) => keystoneToken({ user: `user-${n}`, tenant: `tenant-${n}` })),
  })),
  ...[1, 20, 200].map((groups) => ({ what: `${groups} groups`, tokens: [keystoneToken({ groups })] })),
  ...[300, 4_000, 16_000].map((length) => ({
    what: `a token of ${length / 1_000} kB`,
    tokens: [keystoneToken({ length })],
  })),
  { what: '1 user, Redis', tokens: [keystoneToken()], redis: true },
  { what: '1000 users, Redis', tokens: many(1_000, (n) => keystoneToken({ user: `r-${n}` })), redis: true },
  { what: '2 workers on two cores', tokens: [keystoneToken()], workers: 2 },
];

export async function measureGrowth(site: Site, seconds: number, warmUp: number): Promise<GrowthRow[]> {
  const rows: GrowthRow[] = [];
  for (const variant of VARIANTS) {
    if (variant.redis === true && redisMissing() !== undefined) continue;
    rows.push(await measure(site, variant, seconds, warmUp));
  }
  return rows;
}

async function measure(site: Site, variant: Variant, seconds: number, warmUp: number): Promise<GrowthRow> {
  const { what, tokens, redis: withRedis = false, workers = 1 } = variant;
  const redis = withRedis ? await createRedisServer({ tcp: true }) : undefined;
  if (redis !== undefined) {
    process.env.BENCH_REDIS_URL = redis.url;
    process.env.BENCH_SEALING_KEY = randomBytes(32).toString('base64');
  }
  const commands = async () =>
    Number(/total_commands_processed:(\d+)/.exec(String(await redis?.command('INFO', 'stats')))?.[1] ?? 0);
  const serving = await startStonegate({
    site,
    upstream: 'plain',
    name: 'growth',
    core: workers > 1 ? ANY_CORE : CONTENDER_CORE,
    changes: {
      cache: { maxEntries: 20_000, ...(redis && redisConfiguration().cache) },
      server: { workers },
    },
  });
  try {
    const load = {
      folder: site.folder,
      port: serving.port,
      path: '/api/v1/namespaces/default/configmaps/small',
      connections: 32,
      tokens,
    };
    // Everybody is seen before it counts.
    await wrk({ ...load, seconds: warmUp + Math.ceil(tokens.length / 1_000) });
    const before = [cpuSeconds(serving.pid), await site.keystoneCalls(), await commands()] as const;
    const { requestsPerSecond, requests } = await wrk({ ...load, seconds });
    const per1000 = 1_000 / requests;
    return {
      what,
      requestsPerSecond,
      cpuPerRequest: ((cpuSeconds(serving.pid) - before[0]) * 1e6) / requests,
      residentMB: residentBytes(serving.pid) / 1e6,
      keystoneCallsPer1000: ((await site.keystoneCalls()) - before[1]) * per1000,
      redisCommandsPer1000: ((await commands()) - before[2]) * per1000,
    };
  } finally {
    await serving.stop();
    await redis?.remove();
  }
}
