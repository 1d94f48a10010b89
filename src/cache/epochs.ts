/**
 * Epochs invalidate entries. Each tag (a user, a tenant) has an epoch, the time of its last drop or zero; an
 * entry carries its tags' epochs from before the backend was asked, and is invalid as soon as one of them has
 * increased. Epochs never decrease: their records in Redis are authenticated, outlive every entry from before
 * the drop, and are repaired by replicas with a newer one (SECURITY.md).
 */
import type { Clock } from '../lib/clock.ts';
import { documentsTag, isDocumentsTag } from '../lib/drop-tags.ts';
import { createKnownEpochs, type Epoch, type StampedEpochs } from './known-epochs.ts';
import type { SealingKey } from './sealing-key.ts';
import type { SharedStore } from './shared-store.ts';

/** Covers differences between the replicas' clocks. */
const CLOCK_SLACK = 3_600_000;
const MAX_MESSAGE_LENGTH = 4096;
const MAX_TAGS = 100_000;

/** A point in time before a backend is asked. */
export interface Mark {
  readonly learned: number;
  readonly gaps: number;
}

export interface StampedTag {
  readonly tag: string;
  /** The tag's names, one per sealing key. */
  readonly ids: readonly string[];
  readonly epoch: number;
}

/** The epochs of an entry's tags at its mark. */
export interface Stamp extends StampedEpochs {
  readonly tags: readonly StampedTag[];
  /** The number of gaps in the messages when its epochs were last read. */
  gaps: number;
}

export interface Epochs {
  mark(): Mark;
  /**
   * @param mark from before the backend was asked
   * @returns undefined if one of the tags was dropped since: the facts may be older than the drop
   */
  stamp(tags: readonly string[], mark: Mark): Stamp | undefined;
  /**
   * The stamp of an entry that a replica sealed, checked against the epochs in Redis.
   *
   * @param epochs each tag's epoch as sealed into the entry
   * @returns undefined if one of the tags was dropped since, or Redis does not respond
   */
  restamp(epochs: Readonly<Record<string, number>>): Promise<Stamp | undefined>;
  /** Whether nothing was dropped. A promise only if messages may have been lost since Redis was last read. */
  confirm(stamp: Stamp): Promise<boolean> | boolean;
  /** Whether one of its tags was dropped since, as far as this process knows. */
  isDropped(stamp: Stamp): boolean;
  /** Whether nothing was dropped; always reads Redis. False if Redis does not respond. */
  reconfirm(stamp: Stamp): Promise<boolean>;
  /**
   * Raises the tags' epochs in all replicas; in this process even if Redis does not store it.
   *
   * @throws Error if Redis does not store it
   */
  raise(tags: readonly string[]): Promise<void>;
  /** Increases with each epoch that is learned, except those of documents. */
  readonly revocations: number;
  /** Whether a replica has raised it; if Redis does not respond, whether this process knows that. */
  wasRaised(tag: string): Promise<boolean>;
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
  let gaps = 0;

  /** All replicas can recognize tags of documents, but not whose documents they are. */
  const idsOf = (tag: string): string[] =>
    keys.map((key) => {
      const name = key.mac('tag', [tag]);
      return isDocumentsTag(tag) ? documentsTag(name) : name;
    });
  const nameOf = (id: string): string => `${keyPrefix}epoch:${id}`;
  const { isCurrent } = known;

  function keysAndIds(tags: readonly StampedTag[]): { key: SealingKey; id: string }[] {
    return tags.flatMap(({ ids }) =>
      ids.flatMap((id, index) => {
        const key = keys[index];
        return key === undefined ? [] : [{ key, id }];
      }),
    );
  }

  /** Writes a record back that Redis has lost, or that an attacker deleted or replaced by an older one. */
  async function heal(key: SealingKey, id: string, found: Epoch | undefined): Promise<void> {
    const epoch = known.get(id);
    if (epoch === undefined || epoch.value <= (found?.value ?? 0)) return;
    const rest = epoch.until - clock.now();
    if (rest > 0) await store.set(nameOf(id), formatEpoch(key, id, epoch), rest);
  }

  async function read(tags: readonly StampedTag[]): Promise<boolean> {
    const pairs = keysAndIds(tags);
    const names = pairs.map(({ id }) => nameOf(id));
    const records = await store.get(names, MAX_RECORD_BYTES);
    if (records === undefined) return false;
    for (const [index, { key, id }] of pairs.entries()) {
      const epoch = parseEpoch(keys, id, records[index]?.toString('latin1') ?? '');
      if (epoch !== undefined) known.learn(id, epoch);
      void heal(key, id, epoch);
    }
    return true;
  }

  async function reconfirm(stamp: Stamp): Promise<boolean> {
    const gapsBefore = gaps;
    if (!(await read(stamp.tags))) return false;
    stamp.gaps = gapsBefore;
    return isCurrent(stamp);
  }

  /** @returns the lines of the message to the other replicas */
  async function raiseOne({ ids }: StampedTag): Promise<string[]> {
    const now = clock.now();
    const epoch = { value: Math.max(now, known.newest(ids) + 1), until: now + life };
    const lines: string[] = [];
    for (const [index, key] of keys.entries()) {
      const id = ids[index] ?? '';
      const record = formatEpoch(key, id, epoch);
      known.learn(id, epoch);
      if (!(await store.set(nameOf(id), record, life))) throw refused(store);
      lines.push(`${id} ${record}`);
    }
    return lines;
  }

  store.listen({
    onGap() {
      gaps += 1;
    },
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
    mark: () => ({ learned: known.learned, gaps }),
    stamp(tags, mark) {
      const stamped = tags.map((tag) => {
        const ids = idsOf(tag);
        return { tag, ids, epoch: known.newest(ids) };
      });
      if (stamped.some(({ ids }) => known.changedSince(ids, mark.learned))) return undefined;
      return { tags: stamped, generation: known.generation, gaps: mark.gaps };
    },
    async restamp(epochs) {
      const tags = Object.entries(epochs).map(([tag, epoch]) => ({ tag, ids: idsOf(tag), epoch }));
      const stamp = { tags, generation: known.generation, gaps };
      if (!(await reconfirm(stamp))) return undefined;
      // The entry contains a drop that Redis has lost.
      const until = clock.now() + life;
      for (const { ids, epoch } of tags) for (const id of ids) known.learn(id, { value: epoch, until });
      return stamp;
    },
    confirm(stamp) {
      if (!isCurrent(stamp)) return false;
      if (stamp.gaps === gaps) return true;
      // Without a response the entry stays valid: an outage of Redis does not invalidate entries in memory.
      return reconfirm(stamp).then(() => isCurrent(stamp));
    },
    isDropped: known.isDropped,
    get revocations() {
      return known.revocations;
    },
    reconfirm,
    async raise(tags) {
      const stamped = tags.map((tag) => ({ tag, ids: idsOf(tag), epoch: 0 }));
      const answered = await read(stamped);
      const raised = await Promise.allSettled(stamped.map(raiseOne));
      const lines = raised.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      const taken = answered && raised.every(({ status }) => status === 'fulfilled');
      if (!taken || !(await store.publish(lines.join('\n')))) throw refused(store);
    },
    async wasRaised(tag) {
      const ids = idsOf(tag);
      if (known.newest(ids) === 0) await read([{ tag, ids, epoch: 0 }]);
      return known.newest(ids) > 0;
    },
  };
}

function refused(store: SharedStore): Error {
  return new Error(`Redis did not take the drop: ${store.problem() ?? 'it gave no answer'}`);
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
