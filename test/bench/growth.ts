/**
 * Cost as it grows: CPU of a request to Stonegate over the number of users, tenants and groups and the length
 * of tokens, with what Keystone and Redis see of a thousand requests. The lines of a kind are measured in
 * turn.
 */
import { redisMissing } from '../support/redis/redis-server.ts';
import { keystoneToken } from './configuration.ts';
import { type ServingStonegate, startStonegate, startWithRedis } from './contenders/stonegate.ts';
import { playRounds } from './rounds.ts';
import type { Row } from './rows.ts';
import { SMALL } from './scenarios.ts';
import type { Site } from './site.ts';
import { wrk } from './wrk.ts';

interface Line {
  readonly what: string;
  /** In turn, one a request. */
  readonly tokens: readonly string[];
  readonly redis?: boolean;
}

/** Measured in turn; a ratio is to the first. */
type Kind = readonly Line[];

const manyUsers = (count: number) => many(count, (n) => keystoneToken({ user: `user-${n}` }));

const KINDS: readonly Kind[] = [
  [1, 100, 1_000, 10_000].map((count) => ({ what: `users: ${count}`, tokens: manyUsers(count) })),
  [1, 100, 10_000].map((count) => ({
    what: `tenants: ${count}`,
    tokens: many(count, (n) => keystoneToken({ user: `user-${n}`, tenant: `tenant-${n}` })),
  })),
  [1, 20, 200].map((groups) => ({ what: `groups: ${groups}`, tokens: [keystoneToken({ groups })] })),
  [300, 4_000, 16_000].map((length) => ({
    what: `token: ${length / 1_000} kB`,
    tokens: [keystoneToken({ length })],
  })),
  [1, 1_000].map((count) => ({ what: `users, Redis: ${count}`, tokens: manyUsers(count), redis: true })),
];

export const WATCHES = [100, 1_000, 5_000, 10_000];

function many(count: number, make: (n: number) => string): string[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

export interface GrowthRow extends Row {
  /** Not a number where there is no Redis. */
  readonly redisCommandsPer1000: number;
}

const WARM_UP = 6;
const PACE = { rounds: 4, seconds: 2 };

/** Kinds that need a Redis are left out where there is none. */
export async function measureGrowth(site: Site): Promise<GrowthRow[]> {
  const rows: GrowthRow[] = [];
  for (const kind of KINDS) {
    const needsRedis = kind.some(({ redis }) => redis === true);
    if (!needsRedis || redisMissing() === undefined) rows.push(...(await measureKind(site, kind)));
  }
  return rows;
}

async function measureKind(site: Site, kind: Kind): Promise<GrowthRow[]> {
  /** Of each line, after warming up and at the end. */
  const redisCommands: number[][] = [];
  const started: LineServing[] = [];
  const rows = await playRounds({
    ...PACE,
    site,
    load: wrk,
    warmUp: WARM_UP,
    entries: kind.map((line, index) => ({
      name: line.what,
      shape: { ...SMALL, tokens: line.tokens },
      start: async () => {
        const serving = await startLine(site, line, `growth-${index}`);
        started.push(serving);
        return serving;
      },
    })),
    atBounds: async () => {
      redisCommands.push(await Promise.all(started.map(commandsOf)));
    },
  });
  const [before = [], after = []] = redisCommands;
  return rows.map((row, index) => ({
    ...row,
    redisCommandsPer1000: (((after[index] ?? 0) - (before[index] ?? 0)) * 1_000) / row.requests,
  }));
}

type LineServing = ServingStonegate & Partial<Pick<Awaited<ReturnType<typeof startWithRedis>>, 'redis'>>;

function startLine(site: Site, { redis = false }: Line, name: string): Promise<LineServing> {
  const changes = { cache: { maxEntries: 20_000 } };
  const starting = redis ? startWithRedis : startStonegate;
  return starting({ site, upstream: 'plain', name, changes });
}

/** What asks for the figure itself, and introduces itself for that, is not counted. */
const OWN_COMMANDS = /^cmdstat_(?:info|client|hello|select)\b/;

async function commandsOf({ redis }: LineServing): Promise<number> {
  if (redis === undefined) return Number.NaN;
  const lines = String(await redis.command('INFO', 'commandstats')).split('\n');
  return lines
    .filter((line) => !OWN_COMMANDS.test(line))
    .reduce((sum, line) => sum + Number(/:calls=(\d+)/.exec(line)?.[1] ?? 0), 0);
}
