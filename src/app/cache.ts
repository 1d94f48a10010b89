/**
 * The cache that replicas share in Redis, or that stands in for it in one process.
 */

import { createDrops } from '../cache/drops.ts';
import { createProcessCache } from '../cache/process-cache.ts';
import { createRedisStore } from '../cache/redis.ts';
import { createSharedCache } from '../cache/shared-cache.ts';
import { type CredentialCacheOptions, TieredCache } from '../cache/tiered.ts';
import { ComponentType, type Handle } from '../config/component.ts';
import type { Backends, Shared } from '../features/build.ts';
import type { LoadedStonegate, StonegateBuild } from './configuration.ts';

const SHARED = new ComponentType<Shared>('shared cache', { dispose: ({ cache }) => cache.close() });

/** Milliseconds. An operator waits longer for Redis than a request does. */
export const OPERATOR_TIMEOUT = 5_000;

/** @param timeout for Redis, in milliseconds; that of the configuration without it */
export function createShared(
  { generation, loaded, runtime }: StonegateBuild,
  timeout?: number,
): Handle<Shared> {
  const { redis } = loaded.configuration.cache;
  const connection = redis && {
    ...redis,
    ...(redis.caFile !== undefined && { ca: loaded.file(redis.caFile) }),
    ...(timeout !== undefined && { timeout }),
    url: loaded.secret(redis.url),
  };
  const secrets = redis ? loaded.configuration.cache.sealingKeys.map((source) => loaded.secret(source)) : [];
  const life = longestLife(loaded);
  return generation.component(SHARED, {
    fingerprint: [connection, secrets, life],
    create() {
      const store = connection && createRedisStore({ ...runtime, ...connection });
      const cache = store
        ? createSharedCache({
            ...runtime,
            store,
            sealingKeys: secrets.map((secret) => Buffer.from(secret, 'base64')),
            keyPrefix: connection.keyPrefix,
            longestLife: life,
          })
        : createProcessCache({ ...runtime, longestLife: life });
      return { cache, drops: createDrops(cache), store };
    },
  });
}

/** The type of a cache that is cleared when no generation uses it. */
export function cacheType<V>(name: string) {
  return new ComponentType<TieredCache<V>>(name, { dispose: (cache) => cache.clear() });
}

/** A build with the connections that are made already. */
export type ConnectedBuild = StonegateBuild & Backends;

/**
 * A cache of what a backend has said, in this process and in the shared cache. It is reused as long as the
 * backends and their settings stay: the API server, and the sections that `identityDigest` covers,
 * `authentication` and `tenancy`.
 */
export function createBackendCache<V>(
  { generation, loaded, runtime, shared }: ConnectedBuild,
  type: ComponentType<TieredCache<V>>,
  options: Pick<CredentialCacheOptions<V>, 'ttl' | 'negativeTTL' | 'staleIfUnavailable' | 'codec'>,
): TieredCache<V> {
  const { cache, upstream } = loaded.configuration;
  const { maxEntries } = cache;
  const configurationDigest = loaded.identityDigest;
  return generation.component(type, {
    fingerprint: [maxEntries, configurationDigest, upstream.server],
    uses: [shared],
    create: () =>
      new TieredCache({
        ...runtime,
        ...options,
        maxEntries,
        configurationDigest,
        shared: shared.cache,
      }),
  });
}

/** The longest life of an entry in the shared cache, in milliseconds. */
export function longestLife({ configuration: { authentication, portal, tenancy } }: LoadedStonegate): number {
  const { cacheTTL = 0, staleIfUnavailable = 0, roleAssignments } = authentication.keystone ?? {};
  const roles = (roleAssignments?.cacheTTL ?? 0) + (roleAssignments?.staleIfUnavailable ?? 0);
  const reviewed = authentication.tokenReview?.cacheTTL ?? 0;
  const session = portal?.sessionLifetime ?? 0;
  return Math.max(cacheTTL + staleIfUnavailable, roles, reviewed, session, tenancy.discoveryTTL);
}
