/**
 * The credential cache: memory, then Redis, then the backend, with one request per credential at a time. It
 * stores the backend's facts, never the credential: the key is a digest of it. Invalid credentials are cached
 * for seconds, and only in memory, so that no client can fill Redis with them.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Codec } from '../lib/parse-json.ts';
import type { Runtime } from '../lib/runtime.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import { createExpiringCache, type ExpiringCache } from '../limits/expiring-cache.ts';
import type { ForgettingCredentialCache, Validated } from './credential-cache.ts';
import { type Digestible, digestOf } from './credential-digest.ts';
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

export interface CredentialCacheOptions<V> extends Lifetimes, Runtime {
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
}

export class TieredCache<V> implements ForgettingCredentialCache<V> {
  readonly #options: CredentialCacheOptions<V>;
  readonly #memory: ExpiringCache<Entry<V>>;
  readonly #refused: ExpiringCache<true>;
  readonly #flight = new SingleFlight<V | undefined>();
  readonly #refreshing = new Set<string>();
  /** Increases with each `clear`: results of requests from before are not stored, and not shared. */
  #generation = 0;

  constructor(options: CredentialCacheOptions<V>) {
    this.#options = options;
    this.#memory = createExpiringCache(options);
    this.#refused = createExpiringCache(options);
  }

  lookup(credential: Digestible, load: Load<V>): Promise<V | undefined> | V | undefined {
    const { clock, telemetry } = this.#options;
    const digest = digestOf(credential);
    const now = clock.now();
    if (this.#refused.get(digest, now)) {
      telemetry.cacheLookup('negative', 'hit');
      return undefined;
    }
    const entry = this.#findInMemory(digest, now);
    return entry instanceof Promise
      ? entry.then((found) => this.#respond(digest, load, found, clock.now()))
      : this.#respond(digest, load, entry, now);
  }

  forget(credential: Digestible): void {
    const digest = digestOf(credential);
    this.#memory.delete(digest);
    void this.#options.shared.remove(this.#keyOf(digest));
  }

  /** Removes all entries from memory; results that are being fetched are not cached either. */
  clear(): void {
    this.#generation += 1;
    this.#memory.clear();
    this.#refused.clear();
  }

  #keyOf(digest: string): EntryKey {
    const { codec, configurationDigest } = this.#options;
    return { cache: codec.name, digest, configurationDigest };
  }

  #makeEntry(value: V, storedAt: number, credentialExpiresAt: number, tagEpochs: TagEpochs): Entry<V> {
    const times = entryTimes(storedAt, credentialExpiresAt, this.#options, this.#options.random.fraction());
    return { value, storedAt, tagEpochs, retryAt: 0, ...times };
  }

  /** The entry in memory, unless it was dropped. */
  #findInMemory(digest: string, now: number): Promise<Entry<V> | undefined> | Entry<V> | undefined {
    const entry = this.#memory.get(digest, now);
    if (entry === undefined) return undefined;
    const confirmed = this.#options.shared.confirm(entry.tagEpochs);
    return typeof confirmed === 'boolean'
      ? this.#keepIfCurrent(digest, entry, confirmed)
      : confirmed.then((current) => this.#keepIfCurrent(digest, entry, current));
  }

  #keepIfCurrent(digest: string, entry: Entry<V>, isCurrent: boolean): Entry<V> | undefined {
    if (isCurrent) return entry;
    this.#memory.delete(digest);
    return undefined;
  }

  /** The entry in Redis; it is stored in memory if it is newer than the one there. */
  async #findInRedis(digest: string, newerThan: number): Promise<Entry<V> | undefined> {
    const { shared, codec, clock } = this.#options;
    const began = this.#generation;
    const found = await shared.find(this.#keyOf(digest));
    if (found === undefined) return undefined;
    const value = codec.decode(found.content.value);
    if (value === undefined) return undefined;
    // Another replica's clock may run ahead.
    const storedAt = Math.min(found.content.storedAt, clock.now());
    const made = this.#makeEntry(value, storedAt, found.content.credentialExpiresAt, found.tagEpochs);
    const entry = { ...made, discardAt: Math.min(made.discardAt, found.content.discardAt) };
    if (storedAt <= newerThan || entry.discardAt <= clock.now()) return undefined;
    if (began === this.#generation) this.#memory.set(digest, entry, entry.discardAt);
    return entry;
  }

  /** Asks again if there was a drop in the meantime: the result may be older than the drop. */
  async #ask(digest: string, load: Load<V>, reason: 'miss' | 'refresh'): Promise<V | undefined> {
    const { shared, clock } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const began = this.#generation;
      const moment = shared.moment();
      const storedAt = clock.now();
      const validated = await load(reason);
      if (validated === undefined) {
        this.#refuse(digest);
        return undefined;
      }
      if (validated.expiresAt <= clock.now()) return undefined;
      const tagEpochs = shared.epochsOf(validated.tags, moment);
      if (tagEpochs !== undefined && began === this.#generation)
        this.#store(digest, validated, storedAt, tagEpochs);
      if (tagEpochs !== undefined || attempt === MAX_ATTEMPTS) return validated.value;
    }
  }

  #store(digest: string, validated: NonNullable<Validated<V>>, storedAt: number, tagEpochs: TagEpochs): void {
    const { shared, codec } = this.#options;
    const { value, expiresAt: credentialExpiresAt } = validated;
    const entry = this.#makeEntry(value, storedAt, credentialExpiresAt, tagEpochs);
    const { discardAt } = entry;
    this.#memory.set(digest, entry, discardAt);
    const content = { value: codec.encode(value), storedAt, credentialExpiresAt, discardAt };
    void shared.save(this.#keyOf(digest), { content, tagEpochs });
  }

  #refuse(digest: string): void {
    const { clock, negativeTTL, shared } = this.#options;
    const wasKnown = this.#memory.get(digest) !== undefined;
    this.#memory.delete(digest);
    this.#refused.set(digest, true, clock.now() + negativeTTL);
    // A flood of bad credentials must not become a flood of deletions.
    if (wasKnown) void shared.remove(this.#keyOf(digest));
  }

  async #find(digest: string, load: Load<V>, known: Entry<V> | undefined): Promise<V | undefined> {
    const newerThan = known?.storedAt ?? Number.NEGATIVE_INFINITY;
    const found = (await this.#findInRedis(digest, newerThan)) ?? known;
    return found !== undefined && this.#options.clock.now() < found.expiresAt
      ? found.value
      : this.#ask(digest, load, 'miss');
  }

  /** The stale entry, if the backend is down. Other errors are thrown. */
  async #respondStale(digest: string, error: unknown): Promise<V> {
    const { clock, telemetry } = this.#options;
    const stale = isUnavailable(error) ? await this.#findInMemory(digest, clock.now()) : undefined;
    if (stale === undefined) throw error;
    stale.retryAt = clock.now() + RETRY_AFTER;
    telemetry.cacheLookup('memory', 'stale');
    return stale.value;
  }

  /** A request after `clear` must not share a result from before. */
  #fly(digest: string, work: () => Promise<V | undefined>): Promise<V | undefined> {
    return this.#flight.do(`${this.#generation}:${digest}`, work);
  }

  #refresh(digest: string, entry: Entry<V>, load: Load<V>): void {
    const { clock, codec, logger } = this.#options;
    const refreshing = this.#refreshing;
    if (refreshing.has(digest) || refreshing.size >= MAX_REFRESHES) return;
    refreshing.add(digest);
    this.#fly(digest, async () => {
      // Another replica may have done it already.
      const newer = await this.#findInRedis(digest, entry.storedAt);
      return newer !== undefined && clock.now() < newer.refreshAt
        ? newer.value
        : this.#ask(digest, load, 'refresh');
    })
      .catch((error: unknown) => {
        entry.retryAt = clock.now() + RETRY_AFTER;
        logger.info(
          { cache: codec.name, error },
          'an entry could not be refreshed; it is used until it expires',
        );
      })
      .finally(() => refreshing.delete(digest));
  }

  /** The result is a promise only if it is not in memory. */
  #respond(
    digest: string,
    load: Load<V>,
    entry: Entry<V> | undefined,
    now: number,
  ): Promise<V | undefined> | V | undefined {
    const { telemetry } = this.#options;
    if (entry !== undefined && now < entry.expiresAt) {
      telemetry.cacheLookup('memory', 'hit');
      if (now >= entry.refreshAt && now >= entry.retryAt) this.#refresh(digest, entry, load);
      return entry.value;
    }
    if (entry !== undefined && now < entry.retryAt && now < entry.discardAt) {
      telemetry.cacheLookup('memory', 'stale');
      return entry.value;
    }
    telemetry.cacheLookup('memory', 'miss');
    return this.#fly(digest, () => this.#find(digest, load, entry)).catch((error: unknown) =>
      this.#respondStale(digest, error),
    );
  }
}

/** The backend is down: neither "no" nor "too many requests". */
function isUnavailable(error: unknown): boolean {
  return error instanceof StatusError && error.http === 503;
}
