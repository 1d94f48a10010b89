/**
 * The tier that replicas share: entries sealed into Redis. An entry opens only under the name and the
 * configuration it was sealed for, ends at its own sealed end, and is held against its tags' epochs each time.
 * Whatever does not open is no entry; no client ever hears of it.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { createEpochs, type Mark, type Stamp } from './epochs.ts';
import type { TurnOrNot } from './in-turn.ts';
import { parseSealedEntry, type SealedEntry } from './sealed-entry.ts';
import { createSealingKey } from './sealing-key.ts';
import type { LeaseStore, SharedStore } from './shared-store.ts';

/** A longer entry is not written: hundreds of groups fit many times. */
const MAX_ENTRY_BYTES = 65_536;
const WARN_INTERVAL = 60_000;
/** After so many milliseconds a turn is anybody's, whoever has it: no question to a backend takes longer. */
const LONGEST_TURN = 10_000;

/** What an entry is found by. */
export interface EntryKey {
  /** The cache's name: one Redis serves several. */
  readonly cache: string;
  /** Of the credential. */
  readonly digest: string;
  /** Of the configuration under which the entry was made. */
  readonly configurationDigest: string;
}

export interface SharedEntry {
  readonly content: Omit<SealedEntry, 'epochs'>;
  readonly stamp: Stamp;
}

export interface SharedCache {
  /** To be taken before a backend is asked; see `stamp`. */
  mark(): Mark;
  /** @returns undefined where a drop came between mark and now: the facts may be older than the drop */
  stamp(tags: readonly string[], mark: Mark): Stamp | undefined;
  /** Whether an entry in memory has not been dropped; no promise where that is known without asking. */
  confirm(stamp: Stamp): Promise<boolean> | boolean;
  /** The same as far as this process knows. */
  isCurrent(stamp: Stamp): boolean;
  find(key: EntryKey): Promise<SharedEntry | undefined>;
  /** @returns whether it is kept */
  save(key: EntryKey, entry: SharedEntry): Promise<boolean>;
  /** The turn to ask the backend for that entry. */
  takeTurn(key: EntryKey): Promise<TurnOrNot>;
  /** @returns whether it is gone */
  remove(key: EntryKey): Promise<boolean>;
  /**
   * Makes every entry with one of these tags worth nothing, for all replicas.
   *
   * @throws Error where Redis does not take it
   */
  drop(tags: readonly string[]): Promise<void>;
  /** Grows with each drop that this process learns of, but for those of documents. */
  readonly revocations: number;
  /** Whether any replica has dropped the tag, as far as that is remembered: longer than any entry lives. */
  wasDropped(tag: string): Promise<boolean>;
  close(): void;
}

export interface SharedCacheOptions {
  readonly store: SharedStore;
  /** With what replicas agree on who asks a backend; without it each asks for itself. */
  readonly turns?: LeaseStore;
  /** 32 bytes each: the first seals, all open. */
  readonly sealingKeys: readonly Buffer[];
  readonly keyPrefix: string;
  /** The longest life of an entry in any cache, in milliseconds. */
  readonly longestLife: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/** @throws RangeError without a sealing key, or for one that has not 32 bytes */
export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { store, turns, keyPrefix, longestLife, clock, random, logger, telemetry } = options;
  const keys = options.sealingKeys.map((secret) => createSealingKey(secret, random));
  const [sealingKey] = keys;
  if (sealingKey === undefined) throw new RangeError('the shared cache needs a sealing key');
  let quietUntil = 0;
  const epochs = createEpochs({ store, keys, keyPrefix, longestLife, clock });

  const namesOf = ({ cache, digest, configurationDigest }: EntryKey): string[] =>
    keys.map((key) => `${keyPrefix}entry:${key.mac('entry', [cache, digest, configurationDigest])}`);

  /** Each key opens what lies under its own name, and only what was sealed for that name. */
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

  /** Whoever can write to Redis must not be able to fill the log. */
  function warnOfRefusal(cache: string): void {
    const now = clock.now();
    if (now < quietUntil) return;
    quietUntil = now + WARN_INTERVAL;
    logger.warn({ cache }, 'an entry in Redis does not open and counts as absent');
  }

  return {
    mark: epochs.mark,
    stamp: epochs.stamp,
    confirm: epochs.confirm,
    isCurrent: epochs.isCurrent,
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
      const stamp = entry.discardAt > clock.now() ? await epochs.restamp(entry.epochs) : undefined;
      telemetry.cacheLookup('redis', stamp === undefined ? 'miss' : 'hit');
      return stamp && { content: entry, stamp };
    },
    async save(key, { content, stamp }) {
      const [name = ''] = namesOf(key);
      const life = content.discardAt - clock.now();
      if (life <= 0 || !(await epochs.reconfirm(stamp))) return false;
      const entry: SealedEntry = {
        ...content,
        epochs: Object.fromEntries(stamp.tags.map(({ tag, epoch }) => [tag, epoch])),
      };
      const sealed = sealingKey.seal(JSON.stringify(entry), [name]);
      return sealed.length < MAX_ENTRY_BYTES && (await store.set(name, sealed, life));
    },
    async takeTurn({ cache, digest, configurationDigest }) {
      if (turns === undefined) return 'none';
      const name = `${keyPrefix}turn:${sealingKey.mac('turn', [cache, digest, configurationDigest])}`;
      const owner = random.uuid();
      if (await turns.takeLease(name, owner, LONGEST_TURN))
        return { giveBack: () => void turns.giveBackLease(name, owner) };
      return store.problem() === undefined ? 'others' : 'none';
    },
    remove: (key) => store.delete(namesOf(key)),
    drop: epochs.raise,
    get revocations() {
      return epochs.revocations;
    },
    wasDropped: epochs.wasRaised,
    close: () => store.close(),
  };
}
