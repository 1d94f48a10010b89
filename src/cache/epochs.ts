/**
 * Epochs: how entries are dropped. Each tag (a user, a tenant) has an epoch, the time of its last drop or zero; an
 * entry carries the epochs that its tags had before its backend was asked, and is invalid once one of them has risen.
 * Epochs only rise: their records in Redis are authenticated with the sealing key, outlive every entry from before the
 * drop, and are written back by each replica that knows a newer one (SECURITY.md has what remains).
 */
import type { Clock } from '../lib/clock.ts';
import { documentsTag, isDocumentsTag } from '../lib/drop-tags.ts';
import { type Epoch, formatEpoch, MAX_RECORD_BYTES, parseEpoch } from './epoch-record.ts';
import { createKnownEpochs, type StampedEpochs } from './known-epochs.ts';
import type { SealingKey } from './sealing-key.ts';
import type { SharedStore } from './shared-store.ts';

/** Covers clocks of replicas that do not agree. */
const CLOCK_SLACK = 3_600_000;
const MAX_MESSAGE_LENGTH = 4096;
const MAX_TAGS = 100_000;

/** A moment before a backend is asked. */
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
  /** How many gaps in the messages there had been when its epochs were last read. */
  gaps: number;
}

export interface Epochs {
  mark(): Mark;
  /**
   * @param mark taken before the facts were asked for
   * @returns undefined where one of the tags was dropped since: the facts may be older than the drop
   */
  stamp(tags: readonly string[], mark: Mark): Stamp | undefined;
  /**
   * The stamp of an entry that some replica sealed, held against what Redis knows now.
   *
   * @param epochs each tag's epoch as sealed into the entry
   * @returns undefined where one of the tags was dropped since, or Redis does not answer
   */
  restamp(epochs: Readonly<Record<string, number>>): Promise<Stamp | undefined>;
  /** Whether nothing was dropped; asks Redis where messages may have been lost since it was last asked, and only then is a promise. */
  confirm(stamp: Stamp): Promise<boolean> | boolean;
  /** Whether nothing was dropped, as far as this process knows. */
  isCurrent(stamp: Stamp): boolean;
  /** Whether nothing was dropped; always asks Redis. False where Redis does not answer. */
  reconfirm(stamp: Stamp): Promise<boolean>;
  /**
   * Raises the tags' epochs, here and for all replicas. Here it holds even where Redis does not take it.
   *
   * @throws Error where Redis does not take it
   */
  raise(tags: readonly string[]): Promise<void>;
  /** Grows with each epoch learned of anything but documents. */
  readonly revocations: number;
  /** Whether any replica has raised it, as far as that is remembered. Where Redis does not answer: whether this one knows. */
  wasRaised(tag: string): Promise<boolean>;
}

export interface EpochsOptions {
  readonly store: SharedStore;
  readonly keys: readonly SealingKey[];
  /** Before each record's name in Redis. */
  readonly keyPrefix: string;
  /** The longest life of an entry, in milliseconds. */
  readonly longestLife: number;
  readonly clock: Clock;
}

export function createEpochs({ store, keys, keyPrefix, longestLife, clock }: EpochsOptions): Epochs {
  const known = createKnownEpochs(clock, MAX_TAGS);
  const life = longestLife + CLOCK_SLACK;
  let gaps = 0;

  /** Those of documents are told apart by all replicas; whose they are is not. */
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

  /** Writes back what Redis has lost, was robbed of, or was given an older copy of. */
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

  /** @returns the lines that tell the other replicas */
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

  store.onGap(() => {
    gaps += 1;
  });
  store.onMessage((message) => {
    if (message.length > MAX_MESSAGE_LENGTH) return;
    for (const line of message.split('\n')) {
      const [id = '', record = ''] = line.split(' ');
      const epoch = parseEpoch(keys, id, record);
      if (epoch !== undefined) known.learn(id, epoch);
    }
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
      // The entry knows of a drop that Redis has forgotten.
      const until = clock.now() + life;
      for (const { ids, epoch } of tags) for (const id of ids) known.learn(id, { value: epoch, until });
      return stamp;
    },
    confirm(stamp) {
      if (!isCurrent(stamp)) return false;
      if (stamp.gaps === gaps) return true;
      // Without an answer the entry lives on: Redis being gone must not end what is in memory.
      return reconfirm(stamp).then(() => isCurrent(stamp));
    },
    isCurrent,
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
