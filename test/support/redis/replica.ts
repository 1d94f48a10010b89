/**
 * The caches of one replica over a shared store, with a backend in which a test sets the owner of each
 * credential.
 */

import type { Validated } from '../../../src/cache/credential-cache.ts';
import { createProcessCache } from '../../../src/cache/process-cache.ts';
import { createSharedCache, type SharedCache } from '../../../src/cache/shared-cache.ts';
import type { SharedStore } from '../../../src/cache/shared-store.ts';
import { type CredentialCacheOptions, TieredCache } from '../../../src/cache/tiered.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry, type Telemetry } from '../../../src/lib/telemetry.ts';

/** What the backend of a test knows about a credential. */
export interface Facts {
  readonly name: string;
}

export const sealingKey = (seed: number) => Buffer.alloc(32, seed);

export const factsCodec = { name: 'keystone', encode: (facts: Facts) => JSON.stringify(facts), decode };

/** In milliseconds, as the default of the configuration. */
export const TTL = 60_000;

export interface ReplicaOptions extends Partial<CredentialCacheOptions<Facts>> {
  readonly clock: Clock;
  readonly store?: SharedStore;
  readonly sealingKeys?: readonly Buffer[];
  readonly logger?: Logger;
  readonly telemetry?: Telemetry;
}

export function createReplica(options: ReplicaOptions) {
  const { clock, store, logger = silentLogger, telemetry = noTelemetry, random = systemRandom } = options;
  const shared: SharedCache =
    store === undefined
      ? createProcessCache({ clock, longestLife: TTL })
      : createSharedCache({
          store,
          sealingKeys: options.sealingKeys ?? [sealingKey(1)],
          keyPrefix: 'stonegate:',
          longestLife: TTL + (options.staleIfUnavailable ?? 0),
          clock,
          random,
          logger,
          telemetry,
        });
  const cache = new TieredCache<Facts>({
    ttl: TTL,
    negativeTTL: 5_000,
    staleIfUnavailable: 0,
    maxEntries: 100,
    configurationDigest: 'configuration',
    codec: factsCodec,
    random,
    logger,
    telemetry,
    shared,
    ...options,
    clock,
  });
  return { shared, cache };
}

function decode(text: string): Facts | undefined {
  const facts: unknown = JSON.parse(text);
  if (typeof facts !== 'object' || facts === null || !('name' in facts)) return undefined;
  return typeof facts.name === 'string' ? { name: facts.name } : undefined;
}

/** A backend that counts its requests and responds as the test says. */
export function createBackend(clock: Clock) {
  const backend = {
    asked: [] as string[],
    /** The lifetime of a credential in milliseconds. */
    credentialLife: 3_600_000,
    tags: (name: string): readonly string[] => [`user:${name}`, 'tenant:acme'],
    /** The user's name, or undefined for an invalid credential; may throw or wait. */
    answer: async (): Promise<string | undefined> => 'alice',
    load: async (reason: 'miss' | 'refresh'): Promise<Validated<Facts>> => {
      backend.asked.push(reason);
      const expiresAt = clock.now() + backend.credentialLife;
      const name = await backend.answer();
      return name === undefined ? undefined : { value: { name }, expiresAt, tags: backend.tags(name) };
    },
  };
  return backend;
}
