/**
 * Stonegate as its users run it: the built package, with audit and metrics. Also with Redis, and with
 * workers.
 */
import { randomBytes } from 'node:crypto';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { createRedisServer, type RedisServer, redisMissing } from '../../support/redis/redis-server.ts';
import { CONTENDER_CORE, NODE, type Running, type Serving, start, TWO_CORES } from '../processes.ts';
import type { Site, UpstreamKind } from '../site.ts';
import { until } from '../waiting.ts';
import type { Contender } from './contender.ts';

/**
 * As the package has it: what strips types at the start of `src/` takes some 70 MB. `npm run bench` builds
 * it.
 */
const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

export interface StonegateOptions {
  readonly site: Site;
  readonly upstream: UpstreamKind;
  readonly name?: string;
  readonly changes?: Record<string, object>;
  readonly core?: string;
  readonly nodeOptions?: readonly string[];
  /** `dist/main.js` of another build. */
  readonly main?: string;
}

export interface ServingStonegate extends Serving {
  readonly adminPort: number;
}

export async function startStonegate(options: StonegateOptions): Promise<ServingStonegate> {
  const { site, upstream, name = 'stonegate', changes, ...others } = options;
  const audit = join(site.folder, `${name}-audit.log`);
  const file = site.configure(name, upstream, {
    log: { level: 'info' },
    audit: { file: audit },
    ...changes,
  });
  const serving = await serveConfiguration(file, others);
  return { ...serving, tidy: () => emptyLog(audit) };
}

/** Resolves when it serves. */
export async function serveConfiguration(
  file: string,
  {
    core = CONTENDER_CORE,
    nodeOptions = [],
    main = MAIN,
    only,
  }: Pick<StonegateOptions, 'core' | 'nodeOptions' | 'main'> & { readonly only?: 'admission' } = {},
): Promise<ServingStonegate> {
  const words = ['serve', '--config', file, ...(only === undefined ? [] : ['--only', only])];
  const running = start(core, [...NODE, ...nodeOptions, main, ...words]);
  return { ...running, ...(await until(running, () => portsOf(running))) };
}

/**
 * A log that only grows takes new memory for the kernel's page cache:
 * in a virtual machine each of them is first fetched from the host, which costs more than the log's lines.
 */
function emptyLog(file: string): void {
  truncateSync(file);
}

interface Said {
  readonly address?: { readonly port: number };
  readonly admission?: { readonly port: number };
  readonly port?: number;
  readonly admin?: { readonly port: number };
}

/** One process says its addresses; the primary of several its port. */
function portsOf(running: Running): { port: number; adminPort: number } | undefined {
  for (const line of running.output().split('\n')) {
    if (!line.includes('"message":"serving"') || !line.endsWith('}')) continue;
    const said: Said = JSON.parse(line);
    const port = said.port ?? said.address?.port ?? said.admission?.port;
    if (said.admin !== undefined && port !== undefined) return { port, adminPort: said.admin.port };
  }
  return undefined;
}

export const stonegate: Contender = {
  name: 'stonegate',
  start: ({ site, upstream }) => startStonegate({ site, upstream }),
};

/** Ends with its process. @param changes beside those that name the Redis */
export async function startWithRedis(
  options: StonegateOptions,
): Promise<ServingStonegate & { readonly redis: RedisServer }> {
  const redis = await createRedisServer({ tcp: true });
  const cache = { ...options.changes?.cache, ...redisConfiguration(redis) };
  try {
    const serving = await startStonegate({ ...options, changes: { ...options.changes, cache } });
    const stop = async () => {
      await serving.stop();
      await redis.remove();
    };
    return { ...serving, redis, stop };
  } catch (error) {
    await redis.remove();
    throw error;
  }
}

/**
 * Member `cache` of a configuration; the values go into the environment, which a process reads as it starts.
 */
function redisConfiguration(redis: RedisServer): object {
  process.env.BENCH_REDIS_URL = redis.url;
  process.env.BENCH_SEALING_KEY ??= randomBytes(32).toString('base64');
  return {
    redis: { url: { fromEnv: 'BENCH_REDIS_URL' } },
    sealingKeys: [{ fromEnv: 'BENCH_SEALING_KEY' }],
  };
}

const noRedis = redisMissing();

export const stonegateWithRedis: Contender = {
  name: 'with Redis',
  ...(noRedis !== undefined && { missing: noRedis }),
  start: ({ site, upstream }) => startWithRedis({ site, upstream, name: 'with-redis' }),
};

/** Sections of the configuration that count each request; no limit is reached. */
const COUNTING: Record<string, object> = parse(`
  limits:
    perTenant: {perSecond: 100000, burst: 100000}
    perUser: {perSecond: 100000, burst: 100000}
  usage: {records: usage.log, metrics: true}`);

export const stonegateWithLimits: Contender = {
  name: 'with Redis, limits and usage',
  ...(noRedis !== undefined && { missing: noRedis }),
  start: ({ site, upstream }) => startWithRedis({ site, upstream, name: 'with-limits', changes: COUNTING }),
};

/** All on the same two cores, so that nothing but their number differs. */
export function stonegateOf(workers: number): Contender {
  const name = workers === 1 ? '1 worker' : `${workers} workers`;
  return {
    name,
    start: ({ site, upstream }) =>
      startStonegate({
        site,
        upstream,
        name: `workers-${workers}`,
        core: TWO_CORES,
        changes: { server: { workers } },
      }),
  };
}
