/**
 * Drops: an operator invalidates what is cached of a user or a tenant in all replicas, and ends their
 * long-running requests. Long-running requests outlive cache entries, so they watch for drops
 * themselves.
 */
import {
  endStreamsOfTenantTag,
  endStreamsOfUserTag,
  SWITCHED_OFF_TAG,
  tenantTag,
  userTag,
} from './drop-tags.ts';
import type { SharedCache } from './shared-cache.ts';

/** Tells that an operator or Keystone has revoked something, at this or another replica. */
export interface Drops {
  /** The number of drops that this process knows of; those of documents do not count. */
  readonly count: number;
  /** Watches from now on. */
  watch(tags: readonly string[]): DropWatch;
}

export interface DropWatch {
  /** Whether one of the tags was dropped since, as far as this process knows. */
  readonly isDropped: boolean;
  /** The same; asks Redis if messages may have been lost. */
  confirmDropped(): Promise<boolean>;
}

type Watched = Pick<SharedCache, 'moment' | 'epochsOf' | 'isDropped' | 'confirm' | 'revocations'>;

/** Drops by the epochs that invalidate cached entries (`epochs.ts`). */
export function createDrops(shared: Watched): Drops {
  return {
    get count() {
      return shared.revocations();
    },
    watch(tags) {
      const tagEpochs = shared.epochsOf(tags, shared.moment());
      if (tagEpochs === undefined) throw new Error('a drop between two synchronous calls is impossible');
      return {
        get isDropped() {
          return shared.isDropped(tagEpochs);
        },
        async confirmDropped() {
          return !(await shared.confirm(tagEpochs)) && shared.isDropped(tagEpochs);
        },
      };
    },
  };
}

/** Exactly one of the two. */
export type DropTarget = { readonly user: string } | { readonly tenant: string };

/**
 * @param target a user by name or id, or a tenant, as the entries are tagged
 * @throws Error if Redis does not store it; its message is for the operator
 */
export function drop(shared: SharedCache, target: DropTarget): Promise<void> {
  const tags =
    'user' in target
      ? [userTag(target.user), endStreamsOfUserTag(target.user)]
      : [tenantTag(target.tenant), endStreamsOfTenantTag(target.tenant)];
  return shared.drop([...tags, SWITCHED_OFF_TAG]);
}
