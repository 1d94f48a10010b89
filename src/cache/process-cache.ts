/**
 * Replaces the shared cache if no Redis is configured: nothing is shared with other processes, but the
 * entries in this process's memory can be dropped by their tags.
 */
import type { Clock } from '../lib/clock.ts';
import { createKnownEpochs } from './known-epochs.ts';
import type { SharedCache } from './shared-cache.ts';

const MAX_TAGS = 100_000;

/** @param longestLife of an entry in any cache, in milliseconds: a drop is known for as long */
export function createProcessCache({
  clock,
  longestLife,
}: {
  readonly clock: Clock;
  readonly longestLife: number;
}): SharedCache {
  const known = createKnownEpochs(clock, MAX_TAGS);
  return {
    moment: known.moment,
    epochsOf: (tags, moment) =>
      known.epochsOf(
        tags.map((tag) => ({ tag, ids: [tag] })),
        moment,
      ),
    confirm: known.isCurrent,
    isDropped: known.isDropped,
    find: async () => undefined,
    save: async () => false,
    remove: async () => true,
    async drop(tags) {
      for (const tag of tags) known.drop([tag], longestLife);
    },
    revocations: known.revocations,
    wasDropped: async (tag) => known.newest([tag]) > 0,
    close() {},
  };
}
