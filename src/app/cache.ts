/**
 * The cache that replicas share in Redis, or that stands in for it in one process.
 */

import { createDrops } from '../cache/drops.ts';
import { createProcessCache } from '../cache/process-cache.ts';
import { createRedisStore } from '../cache/redis.ts';
import { createSharedCache, type SharedCache } from '../cache/shared-cache.ts';
import type { SharedStore } from '../cache/shared-store.ts';
import type { Build, RuntimeDependencies } from '../config/build.ts';
import { ComponentType } from '../config/component.ts';
import type { CacheConfiguration } from '../config/configuration.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { type Shared, sealingSecrets } from '../features/build.ts';

type RedisConfiguration = NonNullable<CacheConfiguration['redis']>;

const SHARED = new ComponentType<Shared>('shared cache', { dispose: ({ cache }) => cache.close() });

export function createShared({ generation, loaded, runtime }: Build): Shared {
  const { redis } = loaded.configuration.cache;
  const connection = redis && redisConnection(loaded, redis);
  return generation.component(SHARED, {
    fingerprint: [connection, redis && sealingSecrets(loaded), longestLife(loaded)],
    create() {
      const store = connection && createRedisStore({ ...runtime, ...connection });
      const cache =
        redis === undefined || store === undefined
          ? createProcessCache({ ...runtime, longestLife: longestLife(loaded) })
          : createRedisCache(loaded, redis, store, runtime);
      return { cache, drops: createDrops(cache), store };
    },
  });
}

/** @param store is closed with the cache */
export function createRedisCache(
  loaded: LoadedConfiguration,
  { keyPrefix }: RedisConfiguration,
  store: SharedStore,
  runtime: RuntimeDependencies,
): SharedCache {
  return createSharedCache({
    ...runtime,
    store,
    sealingKeys: sealingSecrets(loaded).map((secret) => Buffer.from(secret, 'base64')),
    keyPrefix,
    longestLife: longestLife(loaded),
  });
}

/** Address and credentials of Redis. */
export function redisConnection(loaded: LoadedConfiguration, redis: RedisConfiguration) {
  const ca = redis.caFile === undefined ? {} : { ca: loaded.file(redis.caFile) };
  return { ...redis, ...ca, url: loaded.secret(redis.url) };
}

/** The longest life of an entry in the shared cache, in milliseconds. */
export function longestLife({
  configuration: { authentication, portal, tenancy },
}: LoadedConfiguration): number {
  const { cacheTTL = 0, staleIfUnavailable = 0, roleAssignments } = authentication.keystone ?? {};
  const roles = (roleAssignments?.cacheTTL ?? 0) + (roleAssignments?.staleIfUnavailable ?? 0);
  const reviewed = authentication.tokenReview?.cacheTTL ?? 0;
  const session = portal?.sessionLifetime ?? 0;
  return Math.max(cacheTTL + staleIfUnavailable, roles, reviewed, session, tenancy.discoveryTTL);
}
