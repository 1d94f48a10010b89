/**
 * What a credential cache is made of, and what whoever made it can do with it.
 */
import type { ForgettingCredentialCache } from '../authentication/ports.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { Lifetimes } from './entry.ts';
import type { SharedCache } from './shared-cache.ts';

export interface CredentialCacheOptions<V> extends Lifetimes {
  /** Tells the entries of several caches in one Redis apart. */
  readonly name: string;
  /** How long a bad credential is remembered, in milliseconds; zero: not at all. */
  readonly negativeTTL: number;
  readonly maxEntries: number;
  /** Of everything that decides what the facts mean; entries made under another are not found. */
  readonly configurationDigest: string;
  readonly shared: SharedCache;
  readonly codec: Codec<V>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/** How facts are written into Redis. */
export interface Codec<V> {
  encode(value: V): string;
  /** @returns undefined for what is no such value */
  decode(text: string): V | undefined;
}

export interface ClearableCredentialCache<V> extends ForgettingCredentialCache<V> {
  /** Forgets what is in memory; an answer under way is not kept either. */
  clear(): void;
  /** Entries in memory. */
  readonly size: number;
  /** Digests, as the entries in memory are found by. */
  keys(): Iterable<string>;
}
