/**
 * Epochs invalidate entries. Each tag (a user, a tenant) has an epoch, the time of its last drop or zero; an
 * entry carries its tags' epochs from before the backend was asked, and is invalid as soon as one of them has
 * increased. Epochs never decrease: their records in Redis are authenticated, outlive every entry from before
 * the drop, and are repaired by replicas with a newer one (SECURITY.md).
 */
import type { Clock } from '../lib/clock.ts';
import { documentsTag, isDocumentsTag } from './drop-tags.ts';
import { createKnownEpochs, type Epoch, type Moment, type TagEpochs, type TagNames } from './known-epochs.ts';
import type { SealingKey } from './sealing-key.ts';
import type { SharedStore } from './shared-store.ts';

/** Covers differences between the replicas' clocks. */
const CLOCK_SLACK = 3_600_000;
const MAX_MESSAGE_LENGTH = 4096;
const MAX_TAGS = 100_000;

export interface Epochs {
  moment(): Moment;
  /**
   * @param moment from before the backend was asked
   * @returns undefined if one of the tags was dropped since: the facts may be older than the drop
   */
  epochsOf(tags: readonly string[], moment: Moment): TagEpochs | undefined;
  /**
   * The epochs of an entry that a replica sealed, checked against those in Redis.
   *
   * @param epochs each tag's epoch as sealed into the entry
   * @returns undefined if one of the tags was dropped since, or Redis does not respond
   */
  confirmSealed(epochs: Readonly<Record<string, number>>): Promise<TagEpochs | undefined>;
  /** Whether nothing was dropped. A promise only if messages may have been lost since Redis was last read. */
  confirm(tagEpochs: TagEpochs): Promise<boolean> | boolean;
  /** Whether one of its tags was dropped since, as far as this process knows. */
  isDropped(tagEpochs: TagEpochs): boolean;
  /** Whether nothing was dropped; always reads Redis. False if Redis does not respond. */
  confirmInRedis(tagEpochs: TagEpochs): Promise<boolean>;
  /**
   * Invalidates every entry with one of these tags, in all replicas; in this process even if Redis does not
   * store it.
   *
   * @throws Error if Redis does not store it
   */
  drop(tags: readonly string[]): Promise<void>;
  /** Increases with each drop that this process learns of, except those of documents. */
  revocations(): number;
  /**
   * Whether a replica has dropped the tag; if Redis does not respond, whether this process knows that. It is
   * known for longer than any entry lives.
   */
  wasDropped(tag: string): Promise<boolean>;
}

export interface EpochsOptions {
  readonly store: SharedStore;
  readonly keys: readonly SealingKey[];
  /** Prefix of each record's name in Redis. */
  readonly keyPrefix: string;
  /** The longest lifetime of an entry, in milliseconds. */
  readonly longestLife: number;
  readonly clock: Clock;
}

export function createEpochs({ store, keys, keyPrefix, longestLife, clock }: EpochsOptions): Epochs {
  const known = createKnownEpochs(clock, MAX_TAGS);
  const life = longestLife + CLOCK_SLACK;

  /** All replicas can recognize tags of documents, but not whose documents they are. */
  const idsOf = (tag: string): string[] =>
    keys.map((key) => {
      const name = key.mac('tag', [tag]);
      return isDocumentsTag(tag) ? documentsTag(name) : name;
    });
  const nameOf = (id: string): string => `${keyPrefix}epoch:${id}`;
  const namesOf = (tag: string): TagNames => ({ tag, ids: idsOf(tag) });
  const { isCurrent } = known;

  function keysAndIds(tags: readonly TagNames[]): { key: SealingKey; id: string }[] {
    return tags.flatMap(({ ids }) =>
      ids.flatMap((id, index) => {
        const key = keys[index];
        return key === undefined ? [] : [{ key, id }];
      }),
    );
  }

  /** Writes a record back that Redis has lost, or that an attacker deleted or replaced by an older one. */
  async function restore(key: SealingKey, id: string, found: Epoch | undefined): Promise<void> {
    const epoch = known.get(id);
    if (epoch === undefined || epoch.value <= (found?.value ?? 0)) return;
    const rest = epoch.until - clock.now();
    if (rest > 0) await store.set(nameOf(id), formatEpoch(key, id, epoch), rest);
  }

  async function read(tags: readonly TagNames[]): Promise<boolean> {
    const pairs = keysAndIds(tags);
    const names = pairs.map(({ id }) => nameOf(id));
    const records = await store.get(names, MAX_RECORD_BYTES);
    if (records === undefined) return false;
    for (const [index, { key, id }] of pairs.entries()) {
      const epoch = parseEpoch(keys, id, records[index]?.toString('latin1') ?? '');
      if (epoch !== undefined) known.learn(id, epoch);
      void restore(key, id, epoch);
    }
    return true;
  }

  async function confirmInRedis(tagEpochs: TagEpochs): Promise<boolean> {
    const { gaps } = known.moment();
    if (!(await read(tagEpochs.tags))) return false;
    tagEpochs.gaps = gaps;
    return isCurrent(tagEpochs);
  }

  store.listen({
    onGap: known.noteGap,
    onMessage(message) {
      if (message.length > MAX_MESSAGE_LENGTH) return;
      for (const line of message.split('\n')) {
        const [id = '', record = ''] = line.split(' ');
        const epoch = parseEpoch(keys, id, record);
        if (epoch !== undefined) known.learn(id, epoch);
      }
    },
  });

  return {
    moment: known.moment,
    epochsOf: (tags, moment) => known.epochsOf(tags.map(namesOf), moment),
    async confirmSealed(epochs) {
      const tags = Object.entries(epochs).map(([tag, epoch]) => ({ ...namesOf(tag), epoch }));
      const tagEpochs = known.unchecked(tags);
      if (!(await confirmInRedis(tagEpochs))) return undefined;
      // The entry contains a drop that Redis has lost.
      const until = clock.now() + life;
      for (const { ids, epoch } of tags) for (const id of ids) known.learn(id, { value: epoch, until });
      return tagEpochs;
    },
    confirm(tagEpochs) {
      if (!isCurrent(tagEpochs)) return false;
      if (tagEpochs.gaps === known.moment().gaps) return true;
      // Without a response the entry stays valid: an outage of Redis does not invalidate entries in memory.
      return confirmInRedis(tagEpochs).then(() => isCurrent(tagEpochs));
    },
    isDropped: known.isDropped,
    revocations: known.revocations,
    confirmInRedis,
    async drop(tags) {
      const named = tags.map(namesOf);
      const answered = await read(named);
      const records = named.flatMap((names) => {
        const epoch = known.drop(names.ids, life);
        return keysAndIds([names]).map(({ key, id }) => ({ id, record: formatEpoch(key, id, epoch) }));
      });
      const stored = await Promise.all(records.map(({ id, record }) => store.set(nameOf(id), record, life)));
      const published = await store.publish(records.map(({ id, record }) => `${id} ${record}`).join('\n'));
      if (!answered || stored.includes(false) || !published)
        throw new Error(`Redis did not take the drop: ${store.problem() ?? 'it did not answer'}`);
    },
    async wasDropped(tag) {
      const names = namesOf(tag);
      if (known.newest(names.ids) === 0) await read([names]);
      return known.newest(names.ids) > 0;
    },
  };
}

/** A record is authenticated for its tag, so that it can neither be forged nor moved to another tag. */
const MAX_RECORD_BYTES = 160;
const RECORD = /^(\d{1,15})\.(\d{1,15})\.([\w-]{43})$/;

/** @param id the tag's name by `key` */
function formatEpoch(key: SealingKey, id: string, { value, until }: Epoch): string {
  return `${value}.${until}.${key.mac('epoch', [id, String(value), String(until)])}`;
}

/** @returns undefined if none of the keys authenticates it */
function parseEpoch(keys: readonly SealingKey[], id: string, record: string): Epoch | undefined {
  const match = RECORD.exec(record);
  if (match === null) return undefined;
  const [, value = '', until = '', mac = ''] = match;
  if (!keys.some((key) => key.verify(mac, 'epoch', [id, value, until]))) return undefined;
  return { value: Number(value), until: Number(until) };
}
