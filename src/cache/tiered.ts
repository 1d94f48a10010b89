/**
 * The credential cache: memory, then Redis, then the backend, one question per credential at a time. What it keeps
 * are the backend's facts, never the credential: the key is a digest of it. Bad credentials are remembered for
 * seconds, in memory only, so that nobody can fill Redis with them.
 */
import type { Validated } from '../authentication/ports.ts';
import { StatusError } from '../errors/status-error.ts';
import { digestOf } from '../lib/credential-digest.ts';
import { SingleFlight } from '../lib/single-flight.ts';
import type { ClearableCredentialCache, CredentialCacheOptions } from './credential-cache-parts.ts';
import { type EntryTimes, entryTimes } from './entry.ts';
import type { Stamp } from './epochs.ts';
import { inTurn } from './in-turn.ts';
import { createMemoryTier } from './memory.ts';
import type { EntryKey } from './shared-cache.ts';

/** Refreshes under way at once: they must leave room in the backend for people who wait. */
const MAX_REFRESHES = 4;
/** How long a backend that was down is not asked again for the same entry, in milliseconds. */
const REST = 5_000;
/** A drop during each of so many questions in a row: then the answer serves once and is not kept. */
const MAX_ATTEMPTS = 3;

interface Entry<V> extends EntryTimes {
  readonly value: V;
  readonly storedAt: number;
  readonly stamp: Stamp;
  /** The backend was down a moment ago: until then it is not asked again. */
  restUntil: number;
}

type Load<V> = (reason: 'miss' | 'refresh') => Promise<Validated<V>>;

export function createCredentialCache<V>(options: CredentialCacheOptions<V>): ClearableCredentialCache<V> {
  const { shared, clock, codec, telemetry, maxEntries } = options;
  const memory = createMemoryTier<Entry<V>>({ maxEntries, clock });
  const bad = createMemoryTier<true>({ maxEntries, clock });
  const flight = new SingleFlight<V | undefined>();
  const refreshing = new Set<string>();
  let generation = 0;

  /** Who asks after `clear` must not share an answer from before. */
  const flightKey = (digest: string): string => `${generation}:${digest}`;
  const keyOf = (digest: string): EntryKey => ({
    cache: options.name,
    digest,
    configurationDigest: options.configurationDigest,
  });

  function makeEntry(value: V, storedAt: number, credentialExpiresAt: number, stamp: Stamp): Entry<V> {
    const times = entryTimes(storedAt, credentialExpiresAt, options, options.random.fraction());
    return { value, storedAt, stamp, restUntil: 0, ...times };
  }

  /** The entry in memory, unless it was dropped. */
  function recall(digest: string, now: number): Promise<Entry<V> | undefined> | Entry<V> | undefined {
    const entry = memory.get(digest, now);
    if (entry === undefined) return undefined;
    const confirmed = shared.confirm(entry.stamp);
    return typeof confirmed === 'boolean'
      ? unlessDropped(digest, entry, confirmed)
      : confirmed.then((current) => unlessDropped(digest, entry, current));
  }

  function unlessDropped(digest: string, entry: Entry<V>, confirmed: boolean): Entry<V> | undefined {
    if (confirmed) return entry;
    memory.delete(digest);
    return undefined;
  }

  /** The entry in Redis, taken into memory where it is newer than what is there. */
  async function recallShared(digest: string, newerThan: number): Promise<Entry<V> | undefined> {
    const began = generation;
    const found = await shared.find(keyOf(digest));
    if (found === undefined) return undefined;
    const value = codec.decode(found.content.value);
    if (value === undefined) return undefined;
    // Another replica's clock may run ahead.
    const storedAt = Math.min(found.content.storedAt, clock.now());
    const made = makeEntry(value, storedAt, found.content.credentialExpiresAt, found.stamp);
    const entry = { ...made, discardAt: Math.min(made.discardAt, found.content.discardAt) };
    if (storedAt <= newerThan || entry.discardAt <= clock.now()) return undefined;
    if (began === generation) memory.set(digest, entry, entry.discardAt);
    return entry;
  }

  /** Asks the backend when it is this replica's turn, unless another replica has asked in the meantime. */
  function ask(digest: string, load: Load<V>, reason: 'miss' | 'refresh', newerThan: number) {
    return inTurn({
      clock,
      takeTurn: () => shared.takeTurn(keyOf(digest)),
      look: async () => {
        const found = await recallShared(digest, newerThan);
        return found !== undefined && clock.now() < found.expiresAt ? found.value : undefined;
      },
      ask: async (turn) => {
        const saved: Promise<unknown>[] = [];
        try {
          return await askNow(digest, load, reason, saved);
        } finally {
          void Promise.all(saved).then(turn.giveBack);
        }
      },
    });
  }

  /** Once more where a drop came in between: the answer may be older than the drop. */
  async function askNow(
    digest: string,
    load: Load<V>,
    reason: 'miss' | 'refresh',
    saved: Promise<unknown>[],
  ): Promise<V | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const began = generation;
      const mark = shared.mark();
      const storedAt = clock.now();
      const validated = await load(reason);
      if (validated === undefined) {
        forget(digest);
        return undefined;
      }
      if (validated.expiresAt <= clock.now()) return undefined;
      const stamp = shared.stamp(validated.tags, mark);
      if (stamp !== undefined) {
        if (began === generation) saved.push(keep(digest, validated, storedAt, stamp));
        return validated.value;
      }
      if (attempt === MAX_ATTEMPTS) return validated.value;
    }
  }

  function keep(digest: string, validated: NonNullable<Validated<V>>, storedAt: number, stamp: Stamp) {
    const entry = makeEntry(validated.value, storedAt, validated.expiresAt, stamp);
    memory.set(digest, entry, entry.discardAt);
    const content = {
      value: codec.encode(validated.value),
      storedAt,
      credentialExpiresAt: validated.expiresAt,
      discardAt: entry.discardAt,
    };
    return shared.save(keyOf(digest), { content, stamp });
  }

  function forget(digest: string): void {
    const wasKnown = memory.get(digest) !== undefined;
    memory.delete(digest);
    bad.set(digest, true, clock.now() + options.negativeTTL);
    // A flood of bad credentials must not become a flood of deletions.
    if (wasKnown) void shared.remove(keyOf(digest));
  }

  async function find(digest: string, load: Load<V>, known: Entry<V> | undefined): Promise<V | undefined> {
    const newerThan = known?.storedAt ?? Number.NEGATIVE_INFINITY;
    const found = (await recallShared(digest, newerThan)) ?? known;
    return found !== undefined && clock.now() < found.expiresAt
      ? found.value
      : ask(digest, load, 'miss', newerThan);
  }

  /** What is kept for the time the backend is down. Anything else it threw is thrown on. */
  async function serveStale(digest: string, error: unknown): Promise<V> {
    const stale = isUnavailable(error) ? await recall(digest, clock.now()) : undefined;
    if (stale === undefined) throw error;
    stale.restUntil = clock.now() + REST;
    telemetry.cacheLookup('memory', 'stale');
    return stale.value;
  }

  function refresh(digest: string, entry: Entry<V>, load: Load<V>): void {
    if (refreshing.has(digest) || refreshing.size >= MAX_REFRESHES) return;
    refreshing.add(digest);
    // Another replica may have done it already.
    const work = async (): Promise<V | undefined> => {
      const newer = await recallShared(digest, entry.storedAt);
      return newer !== undefined && clock.now() < newer.refreshAt
        ? newer.value
        : ask(digest, load, 'refresh', entry.storedAt);
    };
    flight
      .do(flightKey(digest), work)
      .catch((error: unknown) => {
        entry.restUntil = clock.now() + REST;
        options.logger.info(
          { cache: options.name, error },
          'an entry could not be refreshed; it serves to its end',
        );
      })
      .finally(() => refreshing.delete(digest));
  }

  /** Answers from memory where it can, which is no promise. */
  function settle(
    digest: string,
    load: Load<V>,
    entry: Entry<V> | undefined,
    now: number,
  ): Promise<V | undefined> | V | undefined {
    if (entry !== undefined && now < entry.expiresAt) {
      telemetry.cacheLookup('memory', 'hit');
      if (now >= entry.refreshAt && now >= entry.restUntil) refresh(digest, entry, load);
      return entry.value;
    }
    if (entry !== undefined && now < entry.restUntil && now < entry.discardAt) {
      telemetry.cacheLookup('memory', 'stale');
      return entry.value;
    }
    telemetry.cacheLookup('memory', 'miss');
    return flight
      .do(flightKey(digest), () => find(digest, load, entry))
      .catch((error: unknown) => serveStale(digest, error));
  }

  return {
    lookup(credential, load) {
      const digest = digestOf(credential);
      const now = clock.now();
      if (bad.get(digest, now)) {
        telemetry.cacheLookup('negative', 'hit');
        return undefined;
      }
      const entry = recall(digest, now);
      return entry instanceof Promise
        ? entry.then((recalled) => settle(digest, load, recalled, clock.now()))
        : settle(digest, load, entry, now);
    },
    forget(credential) {
      const digest = digestOf(credential);
      memory.delete(digest);
      void shared.remove(keyOf(digest));
    },
    clear() {
      generation += 1;
      memory.clear();
      bad.clear();
    },
    get size() {
      return memory.size;
    },
    keys: memory.keys,
  };
}

/** The backend cannot be asked: not "no", and not "too many questions". */
function isUnavailable(error: unknown): boolean {
  return error instanceof StatusError && error.http === 503;
}
