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

/** The epochs under which an entry was created. */
export interface StampedEpochs {
  readonly tags: readonly { readonly ids: readonly string[]; readonly epoch: number }[];
  readonly generation: number;
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
  /** Increases with each epoch that is learned. */
  readonly learned: number;
  /** The same without those of documents, which a tenant can change at any rate. */
  readonly revocations: number;
  /** Whether one of them was learned after `learned` had this value. */
  changedSince(ids: readonly string[], learned: number): boolean;
  /** Whether one of its tags was dropped since, as far as this process knows. */
  isDropped(stamp: StampedEpochs): boolean;
  /** Whether an entry is valid: it is not once more tags were dropped than are known. */
  isCurrent(stamp: StampedEpochs): boolean;
  /** Changes if all existing entries are invalidated. */
  readonly generation: number;
}

export function createKnownEpochs(clock: Clock, maxTags: number): KnownEpochs {
  const known = new Map<string, { readonly epoch: Epoch; readonly learned: number }>();
  let learned = 0;
  let revocations = 0;
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

  const isDropped = ({ tags }: StampedEpochs): boolean => tags.some(({ ids, epoch }) => newest(ids) > epoch);

  return {
    get: (id) => known.get(id)?.epoch,
    newest,
    isDropped,
    isCurrent(stamp) {
      if (stamp.generation !== generation) return false;
      // Epochs change by `learn` alone.
      if (stamp.currentAt === learned) return true;
      if (isDropped(stamp)) return false;
      stamp.currentAt = learned;
      return true;
    },
    learn(id, epoch) {
      if (epoch.value <= (known.get(id)?.epoch.value ?? 0)) return;
      if (known.size >= maxTags) makeRoom();
      learned += 1;
      if (!isDocumentsTag(id)) revocations += 1;
      known.set(id, { epoch, learned });
    },
    changedSince: (ids, mark) => ids.some((id) => (known.get(id)?.learned ?? 0) > mark),
    get learned() {
      return learned;
    },
    get revocations() {
      return revocations;
    },
    get generation() {
      return generation;
    },
  };
}
