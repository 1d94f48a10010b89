/**
 * What `stonegate cache drop` needs of the composition root: the Redis of the configuration, for one drop.
 */

import { drop } from '../cache/drop.ts';
import { createRedisStore } from '../cache/redis.ts';
import { type CacheDropTarget, cacheDrop } from '../cli/cache-drop.ts';
import type { CommandIO } from '../cli/command.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { noTelemetry } from '../lib/telemetry.ts';
import { redisConnection, type Surroundings, sharedCacheOf } from './made-of.ts';

/** Milliseconds an operator waits for Redis: a request would not. */
const PATIENCE = 5_000;

/** @param argv what follows `cache` */
export function cacheCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return cacheDrop(argv, io, { drop: dropCached });
}

/** @throws Error where Redis does not take it; its message is for the operator */
async function dropCached(loaded: LoadedConfiguration, target: CacheDropTarget): Promise<void> {
  const { redis } = loaded.configuration.cache;
  if (redis === undefined) throw new Error('the configuration has no cache.redis');
  const around: Surroundings = {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    telemetry: noTelemetry,
  };
  const store = createRedisStore({ ...around, ...redisConnection(loaded, redis), timeout: PATIENCE });
  try {
    if (!(await store.whenReady(PATIENCE))) {
      throw new Error(`Redis does not answer: ${store.problem() ?? 'no connection'}`);
    }
    await drop(sharedCacheOf(loaded, redis, store, around), target);
  } finally {
    store.close();
  }
}
