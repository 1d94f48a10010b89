/**
 * The epochs that this process knows. They only increase, whatever Redis returns later. Their number is
 * bounded: beyond it all entries are invalidated, so that no drop is lost.
 */
import type { Clock } from '../lib/clock.ts';
import { isDocumentsTag } from './drop-tags.ts';

export interface Epoch {
  /** When the tag was dropped, in milliseconds since the epoch. */
  readonly value: number;
  /** When every entry from before the drop is dead. */
  readonly until: number;
}

/** A point in time before a backend is asked. */
export interface Moment {
  readonly learned: number;
  readonly gaps: number;
}

export interface TagNames {
  readonly tag: string;
  /** The names under which its epochs are known, one per sealing key. */
  readonly ids: readonly string[];
}

/** The epochs of an entry's tags at a moment before its backend was asked. */
export interface TagEpochs {
  readonly tags: readonly (TagNames & { readonly epoch: number })[];
  readonly generation: number;
  /** The number of gaps in the messages when its epochs were last read. */
  gaps: number;
  /** The value of `learned` at which it was last found current. */
  currentAt?: number;
}

export interface KnownEpochs {
  get(id: string): Epoch | undefined;
  /** The newest of them; 0 if none was dropped. */
  newest(ids: readonly string[]): number;
  /**
   * Stores an epoch that is newer than the known one.
   *
   * @param id of documents if `isDocumentsTag` says so
   */
  learn(id: string, epoch: Epoch): void;
  /**
   * Drops a tag now, by all its names.
   *
   * @param life of the longest entry, in milliseconds
   */
  drop(ids: readonly string[], life: number): Epoch;
  /** Messages about epochs may have been lost. */
  noteGap(): void;
  /** Increases with each epoch that is learned, except those of documents: a tenant changes these often. */
  revocations(): number;
  moment(): Moment;
  /** @returns undefined if one of the tags was dropped since `moment` */
  epochsOf(tags: readonly TagNames[], moment: Moment): TagEpochs | undefined;
  /** The epochs of an entry that was made elsewhere, which are not checked yet. */
  unchecked(tags: TagEpochs['tags']): TagEpochs;
  /** Whether one of its tags was dropped since, as far as this process knows. */
  isDropped(epochs: TagEpochs): boolean;
  /** Whether an entry is valid: it is not once more tags were dropped than are known. */
  isCurrent(epochs: TagEpochs): boolean;
}

export function createKnownEpochs(clock: Clock, maxTags: number): KnownEpochs {
  const known = new Map<string, { readonly epoch: Epoch; readonly learned: number }>();
  let learned = 0;
  let revocations = 0;
  let gaps = 0;
  /** Changes when all existing entries are invalidated. */
  let generation = 0;

  function makeRoom(): void {
    const now = clock.now();
    for (const [id, { epoch }] of known) if (epoch.until <= now) known.delete(id);
    if (known.size < maxTags) return;
    known.clear();
    generation += 1;
  }

  function newest(ids: readonly string[]): number {
    let value = 0;
    for (const id of ids) value = Math.max(value, known.get(id)?.epoch.value ?? 0);
    return value;
  }

  function learn(id: string, epoch: Epoch): void {
    if (epoch.value <= (known.get(id)?.epoch.value ?? 0)) return;
    if (known.size >= maxTags) makeRoom();
    learned += 1;
    if (!isDocumentsTag(id)) revocations += 1;
    known.set(id, { epoch, learned });
  }

  const isDropped = ({ tags }: TagEpochs): boolean => tags.some(({ ids, epoch }) => newest(ids) > epoch);

  return {
    get: (id) => known.get(id)?.epoch,
    newest,
    isDropped,
    isCurrent(epochs) {
      if (epochs.generation !== generation) return false;
      // Epochs change by `learn` alone.
      if (epochs.currentAt === learned) return true;
      if (isDropped(epochs)) return false;
      epochs.currentAt = learned;
      return true;
    },
    learn,
    drop(ids, life) {
      const now = clock.now();
      const epoch = { value: Math.max(now, newest(ids) + 1), until: now + life };
      for (const id of ids) learn(id, epoch);
      return epoch;
    },
    noteGap() {
      gaps += 1;
    },
    moment: () => ({ learned, gaps }),
    epochsOf(tags, moment) {
      const changed = tags.some(({ ids }) =>
        ids.some((id) => (known.get(id)?.learned ?? 0) > moment.learned),
      );
      if (changed) return undefined;
      const epochs = tags.map(({ tag, ids }) => ({ tag, ids, epoch: newest(ids) }));
      return { tags: epochs, generation, gaps: moment.gaps };
    },
    unchecked: (tags) => ({ tags, generation, gaps }),
    revocations: () => revocations,
  };
}
