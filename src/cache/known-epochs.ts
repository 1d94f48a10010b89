/**
 * The epochs this process knows. They only go forward, whatever Redis says later. Bounded: too many to remember
 * means that all entries are dropped rather than that one drop is forgotten.
 */
import type { Clock } from '../lib/clock.ts';
import { isDocumentsTag } from '../lib/drop-tags.ts';
import type { Epoch } from './epoch-record.ts';

/** The epochs that an entry was made under. */
export interface StampedEpochs {
  readonly tags: readonly { readonly ids: readonly string[]; readonly epoch: number }[];
  readonly generation: number;
  /** As `learned` stood when it was last found current. */
  currentAt?: number;
}

export interface KnownEpochs {
  get(id: string): Epoch | undefined;
  /** The newest of them; zero where none was ever dropped. */
  newest(ids: readonly string[]): number;
  /**
   * Takes an epoch that is newer than the one known.
   *
   * @param id of documents if `isDocumentsTag` says so
   */
  learn(id: string, epoch: Epoch): void;
  /** Grows with each epoch learned. */
  readonly learned: number;
  /** The same without those of documents: any tenant may change its own, as often as it likes. */
  readonly revocations: number;
  /** Whether any of them was learned after `learned` stood at this. */
  changedSince(ids: readonly string[], learned: number): boolean;
  /** Whether nothing of an entry was dropped, as far as is known here. */
  isCurrent(stamp: StampedEpochs): boolean;
  /** Changes when all entries made so far are worth nothing. */
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

  return {
    get: (id) => known.get(id)?.epoch,
    newest,
    isCurrent(stamp) {
      if (stamp.generation !== generation) return false;
      // An epoch rises by being learned, and in no other way.
      if (stamp.currentAt === learned) return true;
      if (stamp.tags.some(({ ids, epoch }) => newest(ids) > epoch)) return false;
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
