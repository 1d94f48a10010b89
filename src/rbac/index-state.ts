/**
 * How far the RBAC index can be trusted: each resource must prove from time to time that its watch is alive.
 * A watch that is silently dead looks like a cluster in which nothing changes.
 */
import { INDEXED_RESOURCES, type IndexedResource } from '../kubernetes/rbac-v1.ts';
import type { Clock } from '../lib/clock.ts';
import type { AccessIndex, IndexState } from './access-index.ts';
import type { Scope } from './attributes.ts';
import type { RBACIndex } from './rbac-index.ts';

/**
 * Milliseconds without a proof of life after which a resource is stale. An API server sends a bookmark every
 * minute, and without bookmarks the resource is listed every minute: several of them are missing then.
 */
export const STALE_AFTER = 5 * 60_000;

const OFF = 'the RBAC index is off: the roles and bindings are more than it holds (access.maxIndexBytes)';
const TOO_LARGE = 'the RBAC index leaves out roles and bindings of over 64 kB';

export interface IndexStateOptions {
  readonly index: RBACIndex;
  /** When the resource was last known to be complete, in milliseconds since the epoch; undefined before. */
  readonly provenAt: (resource: IndexedResource) => number | undefined;
  readonly clock: Clock;
}

export class TrackedIndex implements AccessIndex {
  readonly index: RBACIndex;
  readonly #options: IndexStateOptions;
  readonly #stopping = new AbortController();

  constructor(options: IndexStateOptions) {
    this.index = options.index;
    this.#options = options;
  }

  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  state(tenant: string): IndexState {
    if (!this.index.isSynced) return 'notSynced';
    if (this.#stale() !== undefined) return 'stale';
    return this.index.isOff(tenant) ? 'off' : 'current';
  }

  incompleteReason(tenant: string, scope: Scope): string | undefined {
    if (!this.index.isSynced) {
      const missing = INDEXED_RESOURCES.filter((resource) => this.index.revisionOf(resource) === undefined);
      return `the API server's ${missing.join(', ')} have not been listed yet`;
    }
    const stale = this.#stale();
    if (stale !== undefined)
      return `the API server has sent no news of its ${stale} for over ${STALE_AFTER / 60_000} minutes`;
    if (this.index.isOff(tenant)) return OFF;
    return this.index.hasTooLarge(tenant, scope) ? TOO_LARGE : undefined;
  }

  stop(): void {
    this.#stopping.abort();
  }

  #stale(): IndexedResource | undefined {
    const { provenAt, clock } = this.#options;
    const oldest = clock.now() - STALE_AFTER;
    return INDEXED_RESOURCES.find((resource) => (provenAt(resource) ?? oldest) < oldest);
  }
}
