/**
 * The visible namespaces of the identities that asked lately: each is computed once, and follows the changes
 * of the index. What a watch shows goes on following while the watch is open.
 */
import { LRUCache } from 'lru-cache';
import { VISIBLE_NAMES_BYTES } from '../../limits/memory-bounds.ts';
import type { AccessChanges } from '../../rbac/access-changes.ts';
import type { SubjectByNamespace } from '../../rbac/attributes.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { fingerprintOfSubject } from '../../rbac/subject-changes.ts';
import { VisibleNamespaces } from './visible-namespaces.ts';

interface Cached {
  readonly view: VisibleNamespaces;
  readonly unfollow: () => void;
}

export class VisibleNamespacesCache {
  readonly #index: RBACIndex;
  readonly #changes: AccessChanges;
  readonly #views = new LRUCache<string, Cached>({
    maxSize: VISIBLE_NAMES_BYTES,
    sizeCalculation: ({ view }) => view.bytes,
    dispose: ({ view, unfollow }, _key, reason) => {
      if (reason !== 'set' && !view.isWatched) unfollow();
    },
  });

  constructor(index: RBACIndex, changes: AccessChanges) {
    this.#index = index;
    this.#changes = changes;
  }

  /**
   * As it is now.
   *
   * @param tenant whose namespaces; empty if the API server has no tenants
   */
  viewOf(subject: SubjectByNamespace, tenant: string): VisibleNamespaces {
    return this.#find(subject, tenant).view;
  }

  /** @param changed called after each change of the view @returns ends it */
  watch(view: VisibleNamespaces, changed: () => void): () => void {
    const key = keyOf(view.subject, view.namespacesOf);
    const known = this.#views.get(key);
    const cached = known?.view === view ? known : { view, unfollow: this.#changes.follow(view) };
    const unwatch = view.watch(changed);
    return () => {
      unwatch();
      // The client is likely to come back, unless another view of the identity has taken its place.
      const current = this.#views.get(key);
      if (current === undefined) this.#views.set(key, cached);
      if (this.#views.get(key)?.view !== view && !view.isWatched) cached.unfollow();
    };
  }

  #find(subject: SubjectByNamespace, tenant: string): Cached {
    const key = keyOf(subject, tenant);
    let cached = this.#views.get(key);
    if (cached === undefined) {
      const view = new VisibleNamespaces(this.#index, subject, tenant);
      cached = { view, unfollow: this.#changes.follow(view) };
    }
    cached.view.decide();
    // Its size may be another.
    this.#views.set(key, cached);
    return cached;
  }
}

function keyOf(subject: SubjectByNamespace, tenant: string): string {
  return JSON.stringify([tenant, fingerprintOfSubject(subject)]);
}
