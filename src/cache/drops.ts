/**
 * Drops: an operator invalidates what is cached of a user or a tenant in all replicas, and ends their
 * long-running requests. A watch tells long-running requests about drops, since they are not entries and
 * outlive them.
 */
import type { Drops, DropWatch } from '../flowcontrol/ports.ts';
import {
  endStreamsOfTenantTag,
  endStreamsOfUserTag,
  SWITCHED_OFF_TAG,
  tenantTag,
  userTag,
} from '../lib/drop-tags.ts';
import type { Stamp } from './epochs.ts';
import type { SharedCache } from './shared-cache.ts';

type Watched = Pick<SharedCache, 'mark' | 'stamp' | 'isCurrent' | 'confirm' | 'revocations'>;

/** By the epochs that invalidate cached entries (`epochs.ts`). */
export function createDrops(shared: Watched): Drops {
  return {
    get learned() {
      return shared.revocations;
    },
    watch: (tags) => new TagWatch(shared, tags),
  };
}

class TagWatch implements DropWatch {
  readonly #shared: Watched;
  readonly #tags: readonly string[];
  #stamp: Stamp | undefined;

  constructor(shared: Watched, tags: readonly string[]) {
    this.#shared = shared;
    this.#tags = tags;
    this.#stamp = this.#stampNow();
  }

  get dropped(): boolean {
    return this.#stamp !== undefined && !this.#shared.isCurrent(this.#stamp) && !this.#forgotten(this.#stamp);
  }

  async confirmDropped(): Promise<boolean> {
    return this.#stamp !== undefined && !(await this.#shared.confirm(this.#stamp)) && this.dropped;
  }

  /** There were more drops than are known. Then entries are invalid, and open streams start a new watch. */
  #forgotten(stamp: Stamp): boolean {
    const now = this.#stampNow();
    if (now === undefined || now.generation === stamp.generation) return false;
    this.#stamp = now;
    return true;
  }

  /** Never undefined in practice: that needs a drop between two synchronous calls. */
  #stampNow(): Stamp | undefined {
    return this.#shared.stamp(this.#tags, this.#shared.mark());
  }
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
