/**
 * Knows whose documents have changed recently, through this or another replica. A custom resource is served
 * only some time after its definition was written, so nothing is cached for a while after a change: dropping
 * once is not enough.
 */

import { LRUCache } from 'lru-cache';
import type { Runtime } from '../lib/runtime.ts';
import { createRateLimiter, type RateLimiter } from '../limits/rate-limiter.ts';
import { ALL_DOCUMENTS_TAG, documentsTag } from './drop-tags.ts';
import type { TagEpochs } from './known-epochs.ts';
import type { SharedCache } from './shared-cache.ts';

export interface DocumentChangesOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly shared: Pick<SharedCache, 'moment' | 'epochsOf' | 'isDropped' | 'drop'>;
  /** Milliseconds for which a change is recent: at least the time for which documents are cached. */
  readonly period: number;
}

interface Seen {
  readonly tagEpochs: TagEpochs | undefined;
  /** When this process noticed the last change; the clocks of other replicas do not matter. */
  readonly changedAt: number;
}

const MAX_TAGS = 10_000;
/** Messages to other replicas about one tag, however many writes there are. */
const MESSAGES = { perSecond: 1, burst: 1 };
const NEVER = Number.NEGATIVE_INFINITY;

export class DocumentChanges {
  readonly #options: DocumentChangesOptions;
  readonly #seen = new LRUCache<string, Seen>({ max: MAX_TAGS });
  readonly #messages: RateLimiter;

  constructor(options: DocumentChangesOptions) {
    this.#options = options;
    this.#messages = createRateLimiter({ ...MESSAGES, maxKeys: MAX_TAGS, clock: options.clock });
  }

  /**
   * The owner's documents may have changed. For `period` they are fetched at each request, since a change may
   * take effect with a delay. This process knows it at once, other replicas within a second; their `period`
   * may end up to a second earlier. If the message is lost, they serve their documents until these expire.
   *
   * @param owner undefined if it concerns all owners
   */
  changed(owner: string | undefined): void {
    const { clock, shared, logger } = this.#options;
    const tag = owner === undefined ? ALL_DOCUMENTS_TAG : documentsTag(owner);
    this.#note(tag, clock.now());
    if (!this.#messages.take(tag)) return;
    shared.drop([tag]).then(
      // New epochs, so that this process's own drop is no later change.
      () => this.#note(tag, this.#seen.get(tag)?.changedAt ?? clock.now()),
      (error: unknown) =>
        logger.warn({ error }, 'other replicas could not be notified that discovery has changed'),
    );
  }

  isRecent(owner: string): boolean {
    return this.#isRecent(ALL_DOCUMENTS_TAG) || this.#isRecent(documentsTag(owner));
  }

  #isRecent(tag: string): boolean {
    const { clock, period, shared } = this.#options;
    const { tagEpochs, changedAt } = this.#seen.get(tag) ?? this.#firstSeen(tag);
    if (clock.now() < changedAt + period) return true;
    if (tagEpochs === undefined || !shared.isDropped(tagEpochs)) return false;
    this.#note(tag, clock.now());
    return true;
  }

  /** The time of a change before the first check is unknown: it counts as a change now. */
  #firstSeen(tag: string): Seen {
    const seen = this.#note(tag, NEVER);
    const changed = seen.tagEpochs?.tags.some(({ epoch }) => epoch > 0);
    return changed ? this.#note(tag, this.#options.clock.now()) : seen;
  }

  #note(tag: string, changedAt: number): Seen {
    const { shared } = this.#options;
    const seen = { tagEpochs: shared.epochsOf([tag], shared.moment()), changedAt };
    this.#seen.set(tag, seen);
    return seen;
  }
}
