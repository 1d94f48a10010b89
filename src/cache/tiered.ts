/**
 * The credential cache: memory, then Redis, then the backend, with one request per credential at a time. It
 * stores the backend's facts, never the credential: the key is a digest of it. Invalid credentials are cached
 * for seconds, and only in memory, so that no client can fill Redis with them.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Codec } from '../lib/parse-json.ts';
import type { Random } from '../lib/random.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { createExpiringCache } from '../limits/expiring-cache.ts';
import type { ForgettingCredentialCache, Validated } from './credential-cache.ts';
import { digestOf } from './credential-digest.ts';
import { type EntryTimes, entryTimes, type Lifetimes } from './entry.ts';
import type { TagEpochs } from './known-epochs.ts';
import type { EntryKey, SharedCache } from './shared-cache.ts';

/** Concurrent refreshes: clients that wait must find capacity in the backend. */
const MAX_REFRESHES = 4;
/** Milliseconds for which a backend that was down is not asked again for the same entry. */
const RETRY_AFTER = 5_000;
/** After so many requests with a drop during each of them, the result is used once and not cached. */
const MAX_ATTEMPTS = 3;

interface Entry<V> extends EntryTimes {
  readonly value: V;
  readonly storedAt: number;
  readonly tagEpochs: TagEpochs;
  /** The backend was down: until this time it is not asked again. */
  retryAt: number;
}

type Load<V> = (reason: 'miss' | 'refresh') => Promise<Validated<V>>;

export function createCredentialCache<V>(options: CredentialCacheOptions<V>): ClearableCredentialCache<V> {
  const { shared, clock, codec, telemetry, maxEntries } = options;
  const memory = createExpiringCache<Entry<V>>({ maxEntries, clock });
  const refused = createExpiringCache<true>({ maxEntries, clock });
  const flight = new SingleFlight<V | undefined>();
  const refreshing = new Set<string>();
  let generation = 0;

  /** A request after `clear` must not share a result from before. */
  const flightKey = (digest: string): string => `${generation}:${digest}`;
  const keyOf = (digest: string): EntryKey => ({
    cache: codec.name,
    digest,
    configurationDigest: options.configurationDigest,
  });

  function makeEntry(
    value: V,
    storedAt: number,
    credentialExpiresAt: number,
    tagEpochs: TagEpochs,
  ): Entry<V> {
    const times = entryTimes(storedAt, credentialExpiresAt, options, options.random.fraction());
    return { value, storedAt, tagEpochs, retryAt: 0, ...times };
  }

  /** The entry in memory, unless it was dropped. */
  function findInMemory(digest: string, now: number): Promise<Entry<V> | undefined> | Entry<V> | undefined {
    const entry = memory.get(digest, now);
    if (entry === undefined) return undefined;
    const confirmed = shared.confirm(entry.tagEpochs);
    return typeof confirmed === 'boolean'
      ? keepIfCurrent(digest, entry, confirmed)
      : confirmed.then((current) => keepIfCurrent(digest, entry, current));
  }

  function keepIfCurrent(digest: string, entry: Entry<V>, isCurrent: boolean): Entry<V> | undefined {
    if (isCurrent) return entry;
    memory.delete(digest);
    return undefined;
  }

  /** The entry in Redis; it is stored in memory if it is newer than the one there. */
  async function findInRedis(digest: string, newerThan: number): Promise<Entry<V> | undefined> {
    const began = generation;
    const found = await shared.find(keyOf(digest));
    if (found === undefined) return undefined;
    const value = codec.decode(found.content.value);
    if (value === undefined) return undefined;
    // Another replica's clock may run ahead.
    const storedAt = Math.min(found.content.storedAt, clock.now());
    const made = makeEntry(value, storedAt, found.content.credentialExpiresAt, found.tagEpochs);
    const entry = { ...made, discardAt: Math.min(made.discardAt, found.content.discardAt) };
    if (storedAt <= newerThan || entry.discardAt <= clock.now()) return undefined;
    if (began === generation) memory.set(digest, entry, entry.discardAt);
    return entry;
  }

  /** Asks again if there was a drop in the meantime: the result may be older than the drop. */
  async function ask(digest: string, load: Load<V>, reason: 'miss' | 'refresh'): Promise<V | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const began = generation;
      const moment = shared.moment();
      const storedAt = clock.now();
      const validated = await load(reason);
      if (validated === undefined) {
        forget(digest);
        return undefined;
      }
      if (validated.expiresAt <= clock.now()) return undefined;
      const tagEpochs = shared.epochsOf(validated.tags, moment);
      if (tagEpochs !== undefined) {
        if (began === generation) store(digest, validated, storedAt, tagEpochs);
        return validated.value;
      }
      if (attempt === MAX_ATTEMPTS) return validated.value;
    }
  }

  function store(
    digest: string,
    validated: NonNullable<Validated<V>>,
    storedAt: number,
    tagEpochs: TagEpochs,
  ) {
    const entry = makeEntry(validated.value, storedAt, validated.expiresAt, tagEpochs);
    memory.set(digest, entry, entry.discardAt);
    const content = {
      value: codec.encode(validated.value),
      storedAt,
      credentialExpiresAt: validated.expiresAt,
      discardAt: entry.discardAt,
    };
    void shared.save(keyOf(digest), { content, tagEpochs });
  }

  function forget(digest: string): void {
    const wasKnown = memory.get(digest) !== undefined;
    memory.delete(digest);
    refused.set(digest, true, clock.now() + options.negativeTTL);
    // A flood of bad credentials must not become a flood of deletions.
    if (wasKnown) void shared.remove(keyOf(digest));
  }

  async function find(digest: string, load: Load<V>, known: Entry<V> | undefined): Promise<V | undefined> {
    const newerThan = known?.storedAt ?? Number.NEGATIVE_INFINITY;
    const found = (await findInRedis(digest, newerThan)) ?? known;
    return found !== undefined && clock.now() < found.expiresAt ? found.value : ask(digest, load, 'miss');
  }

  /** The stale entry, if the backend is down. Other errors are thrown. */
  async function respondStale(digest: string, error: unknown): Promise<V> {
    const stale = isUnavailable(error) ? await findInMemory(digest, clock.now()) : undefined;
    if (stale === undefined) throw error;
    stale.retryAt = clock.now() + RETRY_AFTER;
    telemetry.cacheLookup('memory', 'stale');
    return stale.value;
  }

  function refresh(digest: string, entry: Entry<V>, load: Load<V>): void {
    if (refreshing.has(digest) || refreshing.size >= MAX_REFRESHES) return;
    refreshing.add(digest);
    // Another replica may have done it already.
    const work = async (): Promise<V | undefined> => {
      const newer = await findInRedis(digest, entry.storedAt);
      return newer !== undefined && clock.now() < newer.refreshAt
        ? newer.value
        : ask(digest, load, 'refresh');
    };
    flight
      .do(flightKey(digest), work)
      .catch((error: unknown) => {
        entry.retryAt = clock.now() + RETRY_AFTER;
        options.logger.info(
          { cache: codec.name, error },
          'an entry could not be refreshed; it is used until it expires',
        );
      })
      .finally(() => refreshing.delete(digest));
  }

  /** The result is a promise only if it is not in memory. */
  function respond(
    digest: string,
    load: Load<V>,
    entry: Entry<V> | undefined,
    now: number,
  ): Promise<V | undefined> | V | undefined {
    if (entry !== undefined && now < entry.expiresAt) {
      telemetry.cacheLookup('memory', 'hit');
      if (now >= entry.refreshAt && now >= entry.retryAt) refresh(digest, entry, load);
      return entry.value;
    }
    if (entry !== undefined && now < entry.retryAt && now < entry.discardAt) {
      telemetry.cacheLookup('memory', 'stale');
      return entry.value;
    }
    telemetry.cacheLookup('memory', 'miss');
    return flight
      .do(flightKey(digest), () => find(digest, load, entry))
      .catch((error: unknown) => respondStale(digest, error));
  }

  return {
    lookup(credential, load) {
      const digest = digestOf(credential);
      const now = clock.now();
      if (refused.get(digest, now)) {
        telemetry.cacheLookup('negative', 'hit');
        return undefined;
      }
      const entry = findInMemory(digest, now);
      return entry instanceof Promise
        ? entry.then((found) => respond(digest, load, found, clock.now()))
        : respond(digest, load, entry, now);
    },
    forget(credential) {
      const digest = digestOf(credential);
      memory.delete(digest);
      void shared.remove(keyOf(digest));
    },
    clear() {
      generation += 1;
      memory.clear();
      refused.clear();
    },
  };
}

/** The backend is down: neither "no" nor "too many requests". */
function isUnavailable(error: unknown): boolean {
  return error instanceof StatusError && error.http === 503;
}

export interface CredentialCacheOptions<V> extends Lifetimes {
  /** Milliseconds for which an invalid credential is cached; 0 disables it. */
  readonly negativeTTL: number;
  readonly maxEntries: number;
  /**
   * The digest of the configuration that determines what the facts mean; another one's entries are not
   * found.
   */
  readonly configurationDigest: string;
  readonly shared: SharedCache;
  readonly codec: Codec<V>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface ClearableCredentialCache<V> extends ForgettingCredentialCache<V> {
  /** Removes all entries from memory; results that are being fetched are not cached either. */
  clear(): void;
}
