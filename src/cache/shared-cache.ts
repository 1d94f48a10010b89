/**
 * The cache tier that replicas share: entries sealed into Redis. An entry opens only under the name and the
 * configuration that it was sealed for, expires at its sealed time, and is checked against its tags' epochs
 * at each read. An entry that does not open counts as absent; clients do not notice it.
 */
import type { Runtime } from '../lib/runtime.ts';
import { createRateLimiter, ONCE_A_MINUTE } from '../limits/rate-limiter.ts';
import { parseSealedEntry, type SealedEntry } from './entry.ts';
import { createEpochs, type Epochs } from './epochs.ts';
import type { TagEpochs } from './known-epochs.ts';
import { createSealingKey } from './sealing-key.ts';
import type { SharedStore } from './shared-store.ts';

/** A larger entry is not written; hundreds of groups fit. */
const MAX_ENTRY_BYTES = 65_536;

/** Identifies an entry. */
export interface EntryKey {
  /** The cache's name: several share one Redis. */
  readonly cache: string;
  /** The credential's digest. */
  readonly digest: string;
  /** The digest of the configuration under which the entry was made. */
  readonly configurationDigest: string;
}

export interface SharedEntry {
  readonly content: Omit<SealedEntry, 'epochs'>;
  readonly tagEpochs: TagEpochs;
}

export interface SharedCache extends Omit<Epochs, 'confirmSealed' | 'confirmInRedis'> {
  find(key: EntryKey): Promise<SharedEntry | undefined>;
  /** @returns whether it is stored */
  save(key: EntryKey, entry: SharedEntry): Promise<boolean>;
  /** @returns whether it is deleted */
  remove(key: EntryKey): Promise<boolean>;
  close(): void;
}

export interface SharedCacheOptions extends Runtime {
  readonly store: SharedStore;
  /** 32 bytes each: the first one seals, all of them open. */
  readonly sealingKeys: readonly Buffer[];
  readonly keyPrefix: string;
  /** The longest lifetime of an entry in any cache, in milliseconds. */
  readonly longestLife: number;
}

/** @throws RangeError without a sealing key, or if one does not have 32 bytes */
export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { store, keyPrefix, longestLife, clock, random, logger, telemetry } = options;
  const keys = options.sealingKeys.map((secret) => createSealingKey(secret, random));
  const [sealingKey] = keys;
  if (sealingKey === undefined) throw new RangeError('the shared cache needs a sealing key');
  const warnings = createRateLimiter({ ...ONCE_A_MINUTE, clock });
  const { confirmSealed, confirmInRedis, ...epochs } = createEpochs({
    store,
    keys,
    keyPrefix,
    longestLife,
    clock,
  });

  const namesOf = ({ cache, digest, configurationDigest }: EntryKey): string[] =>
    keys.map((key) => `${keyPrefix}entry:${key.mac('entry', [cache, digest, configurationDigest])}`);

  /** Each key opens the value under its own name, and only if it was sealed for that name. */
  function open(
    names: readonly string[],
    values: readonly (Buffer | undefined)[],
  ): SealedEntry | 'absent' | 'refused' {
    let result: 'absent' | 'refused' = 'absent';
    for (const [index, name] of names.entries()) {
      const value = values[index];
      if (value === undefined) continue;
      const text = keys[index]?.open(value, [name]);
      const entry = text === undefined ? undefined : parseSealedEntry(text);
      if (entry !== undefined) return entry;
      result = 'refused';
    }
    return result;
  }

  /** An attacker who can write to Redis must not be able to fill the log. */
  function warnOfRefusal(cache: string): void {
    if (warnings.take(cache))
      logger.warn({ cache }, 'an entry in Redis does not open and is treated as absent');
  }

  return {
    ...epochs,
    async find(key) {
      const names = namesOf(key);
      const values = await store.get(names, MAX_ENTRY_BYTES);
      if (values === undefined) {
        telemetry.cacheLookup('redis', 'error');
        return undefined;
      }
      const entry = open(names, values);
      if (entry === 'refused') warnOfRefusal(key.cache);
      if (entry === 'absent' || entry === 'refused') {
        telemetry.cacheLookup('redis', entry === 'refused' ? 'error' : 'miss');
        return undefined;
      }
      const tagEpochs = entry.discardAt > clock.now() ? await confirmSealed(entry.epochs) : undefined;
      telemetry.cacheLookup('redis', tagEpochs === undefined ? 'miss' : 'hit');
      return tagEpochs && { content: entry, tagEpochs };
    },
    async save(key, { content, tagEpochs }) {
      const [name = ''] = namesOf(key);
      const life = content.discardAt - clock.now();
      if (life <= 0 || !(await confirmInRedis(tagEpochs))) return false;
      const entry: SealedEntry = {
        ...content,
        epochs: Object.fromEntries(tagEpochs.tags.map(({ tag, epoch }) => [tag, epoch])),
      };
      const sealed = sealingKey.seal(JSON.stringify(entry), [name]);
      return sealed.length < MAX_ENTRY_BYTES && (await store.set(name, sealed, life));
    },
    remove: (key) => store.delete(namesOf(key)),
    close: () => store.close(),
  };
}
