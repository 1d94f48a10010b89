/**
 * Namespaces that users have created through this process: the user's next list waits until the index has
 * the new namespace.
 */
import { LRUCache } from 'lru-cache';

/** Those who created one last. */
const MAX_USERS = 1_000;

export class CreatedNamespaces {
  /** Revision of the user's last one. */
  readonly #revisions = new LRUCache<string, number>({ max: MAX_USERS });

  /** The API server has created a namespace for the user. */
  created(tenant: string, username: string, revision: number): void {
    const key = keyOf(tenant, username);
    this.#revisions.set(key, Math.max(revision, this.#revisions.get(key) ?? 0));
  }

  /** @returns 0 if the user has created none since the last list */
  revisionOf(tenant: string, username: string): number {
    return this.#revisions.get(keyOf(tenant, username)) ?? 0;
  }

  /** The user's list has the namespace, or has waited for it in vain. */
  shown(tenant: string, username: string, revision: number): void {
    const key = keyOf(tenant, username);
    if (this.#revisions.get(key) === revision) this.#revisions.delete(key);
  }
}

function keyOf(tenant: string, username: string): string {
  return JSON.stringify([tenant, username]);
}
