/**
 * The components of `stonegate cache drop`: the Redis of the configuration, for one drop.
 */
import { drop } from '../../cache/drops.ts';
import { createRedisStore } from '../../cache/redis.ts';
import { type CacheDropTarget, cacheDrop } from '../../cli/cache-drop.ts';
import type { CommandIO } from '../../cli/command.ts';
import { commandRuntime } from '../../config/build.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import { createRedisCache, redisConnection } from '../cache.ts';

/** Milliseconds. An operator waits longer for Redis than a request does. */
const TIMEOUT = 5_000;

/** @param argv what follows `cache` */
export function cacheCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return cacheDrop(argv, io, { drop: dropCached });
}

/** @throws Error if Redis cannot be reached or refuses; its message is for the operator */
async function dropCached(loaded: LoadedConfiguration, target: CacheDropTarget): Promise<void> {
  const { redis } = loaded.configuration.cache;
  if (redis === undefined) throw new Error('the configuration has no cache.redis');
  const runtime = commandRuntime();
  const store = createRedisStore({ ...runtime, ...redisConnection(loaded, redis), timeout: TIMEOUT });
  try {
    if (!(await store.whenReady(TIMEOUT))) {
      throw new Error(`Redis does not answer: ${store.problem() ?? 'no connection'}`);
    }
    await drop(createRedisCache(loaded, redis, store, runtime), target);
  } finally {
    store.close();
  }
}
