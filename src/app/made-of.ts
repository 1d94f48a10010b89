/**
 * What adapters are made of: their parts of the configuration with the secrets and files it names, and a fingerprint by
 * which one can tell whether a part would be built of the same again.
 */
import { createHash } from 'node:crypto';
import type {
  CacheConfiguration,
  KeystoneConfiguration,
  UpstreamConfiguration,
} from '../api/config-v1alpha1.ts';
import { createProcessCache } from '../cache/process-cache.ts';
import { createRedisStore } from '../cache/redis.ts';
import { createSharedCache, type SharedCache } from '../cache/shared-cache.ts';
import type { LeaseStore, SharedStore } from '../cache/shared-store.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { UpstreamLimits } from '../upstream/upstream.ts';

/** What every part is given. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

type RedisConfiguration = NonNullable<CacheConfiguration['redis']>;

function upstreamCredential(loaded: LoadedConfiguration, credential: UpstreamConfiguration['credential']) {
  return 'tokenFile' in credential
    ? { token: loaded.file(credential.tokenFile).toString('utf8').trim() }
    : { cert: loaded.file(credential.certFile), key: loaded.file(credential.keyFile) };
}

/** How the connections to the API server are shared. */
function upstreamLimits({ configuration: { limits } }: LoadedConfiguration): UpstreamLimits {
  return { tenantQueue: limits.tenantQueue, sources: limits.unknownCredentials.concurrent };
}

/**
 * How the API server is reached.
 *
 * @param passThrough whether requests with a client's own token occur
 */
export function upstreamOptions(
  loaded: LoadedConfiguration,
  credential: UpstreamConfiguration['credential'],
  passThrough: boolean,
) {
  const { upstream, server } = loaded.configuration;
  return {
    server: upstream.server,
    ...(upstream.caFile !== undefined && { ca: loaded.file(upstream.caFile) }),
    credential: upstreamCredential(loaded, credential),
    passThrough,
    timeouts: { ...upstream.timeouts, body: server.timeouts.body },
    maxBodyBytes: server.limits.bodyBytes,
    limits: upstreamLimits(loaded),
  };
}

/** With Stonegate's own credential. */
export function ownUpstreamOptions(loaded: LoadedConfiguration) {
  const { upstream, authentication } = loaded.configuration;
  return upstreamOptions(loaded, upstream.credential, authentication.tokenReview !== undefined);
}

export function upstreamMadeOf(loaded: LoadedConfiguration): string {
  return fingerprintOf(loaded.configuration.upstream, ownUpstreamOptions(loaded));
}

export function serviceSecret(
  loaded: LoadedConfiguration,
  credential: NonNullable<KeystoneConfiguration['serviceCredential']>,
): string {
  return loaded.secret(
    'password' in credential ? credential.password.password : credential.applicationCredential.secret,
  );
}

/** Where Redis is, and how to speak to it. */
export function redisConnection(loaded: LoadedConfiguration, redis: RedisConfiguration) {
  const ca = redis.caFile === undefined ? {} : { ca: loaded.file(redis.caFile) };
  return { ...redis, ...ca, url: loaded.secret(redis.url) };
}

/** What replicas share, or what stands in for it in one process. */
export interface Shared {
  readonly cache: SharedCache;
  /** Undefined where there is nobody to agree with. */
  readonly leases: LeaseStore | undefined;
}

export function sharedOf(loaded: LoadedConfiguration, around: Surroundings): Shared {
  const { redis } = loaded.configuration.cache;
  if (redis === undefined)
    return { cache: createProcessCache({ ...around, longestLife: longestLife(loaded) }), leases: undefined };
  const store = createRedisStore({ ...around, ...redisConnection(loaded, redis) });
  return { cache: sharedCacheOf(loaded, redis, store, around), leases: store };
}

export function sharedCacheOf(
  loaded: LoadedConfiguration,
  { keyPrefix }: RedisConfiguration,
  store: SharedStore & LeaseStore,
  around: Surroundings,
): SharedCache {
  return createSharedCache({
    ...around,
    store,
    leases: store,
    sealingKeys: sealingSecrets(loaded).map((secret) => Buffer.from(secret, 'base64')),
    keyPrefix,
    longestLife: longestLife(loaded),
  });
}

export function sharedMadeOf(loaded: LoadedConfiguration): string {
  const { redis } = loaded.configuration.cache;
  if (redis === undefined) return fingerprintOf(longestLife(loaded));
  return fingerprintOf(redisConnection(loaded, redis), sealingSecrets(loaded), longestLife(loaded));
}

/** Of an entry in the shared cache, in milliseconds. */
export function longestLife({
  configuration: { authentication, portal, tenancy },
}: LoadedConfiguration): number {
  const { cacheTTL = 0, staleIfUnavailable = 0, roleAssignments } = authentication.keystone ?? {};
  const roles = (roleAssignments?.cacheTTL ?? 0) + (roleAssignments?.staleIfUnavailable ?? 0);
  const reviewed = authentication.tokenReview?.cacheTTL ?? 0;
  const session = portal?.sessionLifetime ?? 0;
  return Math.max(cacheTTL + staleIfUnavailable, roles, reviewed, session, tenancy.discoveryTTL);
}

export function sealingSecrets(loaded: LoadedConfiguration): string[] {
  return loaded.configuration.cache.sealingKeys.map((source) => loaded.secret(source));
}

/** Equal where a part would be built of the same. A digest, since what it is made of may be secret. */
export function fingerprintOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}
