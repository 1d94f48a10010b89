/**
 * Sees what was dropped of a user or a tenant, by the epochs that drop cached entries (`epochs.ts`): for long-running
 * requests, which are no entries and outlive them.
 */
import type { Drops, DropWatch } from '../flowcontrol/ports.ts';
import type { Stamp } from './epochs.ts';
import type { SharedCache } from './shared-cache.ts';

type Watched = Pick<SharedCache, 'mark' | 'stamp' | 'isCurrent' | 'confirm' | 'revocations'>;

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

  /** More drops were made than are remembered. Then entries are invalid, and open streams begin to watch anew. */
  #forgotten(stamp: Stamp): boolean {
    const now = this.#stampNow();
    if (now === undefined || now.generation === stamp.generation) return false;
    this.#stamp = now;
    return true;
  }

  /** Never undefined in practice: that needs a drop between two calls that run without a pause. */
  #stampNow(): Stamp | undefined {
    return this.#shared.stamp(this.#tags, this.#shared.mark());
  }
}
