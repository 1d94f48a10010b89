/**
 * Which owners' documents changed a moment ago, here or through another replica. A custom resource is served only some
 * time after its definition was written, so for a while after a change nothing may be cached: dropping once is not
 * enough.
 */
import type { Clock } from '../lib/clock.ts';
import { ALL_DOCUMENTS_TAG, documentsTag } from '../lib/drop-tags.ts';
import type { Logger } from '../lib/logger.ts';
import type { Stamp } from './epochs.ts';
import type { SharedCache } from './shared-cache.ts';

export interface DocumentChangesOptions {
  readonly shared: Pick<SharedCache, 'mark' | 'stamp' | 'confirm' | 'drop'>;
  /** Milliseconds for which a change counts as recent: at least as long as documents are kept. */
  readonly period: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Seen {
  readonly stamp: Stamp | undefined;
  /** When the last change was noticed here; clocks of other replicas do not matter. */
  readonly changedAt: number;
}

const MAX_TAGS = 10_000;
/** Milliseconds between two messages to other replicas about one tag: a flood of writes causes no flood of messages. */
const TELL_INTERVAL = 1_000;
const NEVER = Number.NEGATIVE_INFINITY;

export class DocumentChanges {
  readonly #options: DocumentChangesOptions;
  readonly #seen = new Map<string, Seen>();
  /** What the other replicas were told less than an interval ago, and whether it has changed again since. */
  readonly #told = new Map<string, { again: boolean }>();

  constructor(options: DocumentChangesOptions) {
    this.#options = options;
  }

  /**
   * The owner's documents may have changed. For as long as documents are kept, they are fetched anew each time: a change
   * may take effect some time after it was made. Counts at once in this process; other replicas are told within a second,
   * and if that fails they may serve what they have for as long as they keep it.
   *
   * @param owner undefined if it concerns all owners
   */
  changed(owner: string | undefined): void {
    const tag = owner === undefined ? ALL_DOCUMENTS_TAG : documentsTag(owner);
    this.#note(tag, this.#options.clock.now());
    const told = this.#told.get(tag);
    if (told === undefined) this.#tell(tag);
    else told.again = true;
  }

  #tell(tag: string): void {
    const { clock, shared, logger } = this.#options;
    const told = { again: false };
    this.#told.set(tag, told);
    clock.after(TELL_INTERVAL, () => {
      this.#told.delete(tag);
      if (told.again) this.#tell(tag);
    });
    const changedAt = this.#seen.get(tag)?.changedAt ?? clock.now();
    shared.drop([tag]).then(
      // Stamped again, so that this process's own drop does not count as a later change.
      () => this.#note(tag, changedAt),
      (error: unknown) => logger.warn({ error }, 'other replicas could not be told that discovery changed'),
    );
  }

  isRecent(owner: string): Promise<boolean> | boolean {
    const all = this.#isRecent(ALL_DOCUMENTS_TAG);
    if (all === true) return true;
    const own = this.#isRecent(documentsTag(owner));
    if (own === true || all === false) return own;
    return all.then((recent) => recent || own);
  }

  #isRecent(tag: string): Promise<boolean> | boolean {
    const seen = this.#seen.get(tag) ?? this.#firstSeen(tag);
    if (this.#isWithin(seen)) return true;
    const current = seen.stamp === undefined ? false : this.#options.shared.confirm(seen.stamp);
    if (current instanceof Promise) return current.then((known) => !known && this.#noteNow(tag));
    return !current && this.#noteNow(tag);
  }

  #isWithin({ changedAt }: Seen): boolean {
    return this.#options.clock.now() < changedAt + this.#options.period;
  }

  /** The time of a change before this process first checked is not known: it counts as one of now. */
  #firstSeen(tag: string): Seen {
    const seen = this.#note(tag, NEVER);
    const changed = seen.stamp === undefined || seen.stamp.tags.some(({ epoch }) => epoch > 0);
    return changed ? this.#note(tag, this.#options.clock.now()) : seen;
  }

  #noteNow(tag: string): boolean {
    return this.#isWithin(this.#note(tag, this.#options.clock.now()));
  }

  #note(tag: string, changedAt: number): Seen {
    const { shared } = this.#options;
    const later = Math.max(changedAt, this.#seen.get(tag)?.changedAt ?? NEVER);
    const seen = { stamp: shared.stamp([tag], shared.mark()), changedAt: later };
    if (this.#seen.size >= MAX_TAGS) this.#seen.clear();
    this.#seen.set(tag, seen);
    return seen;
  }
}
