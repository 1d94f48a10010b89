/**
 * Namespaces that users have created through this process: the user's next list waits until the index is
 * complete through the new namespace, so that it is in the list.
 */
import type { AccessIndex } from '../ports.ts';

/** Milliseconds for which a list waits at most. */
const TIMEOUT = 3_000;
/** Those who created one last. */
const MAX_USERS = 1_000;

export class CreatedNamespaces {
  readonly #access: Pick<AccessIndex, 'waitFor'>;
  /** Of the user's last namespace; the users that came last are last. */
  readonly #revisions = new Map<string, number>();

  constructor(access: Pick<AccessIndex, 'waitFor'>) {
    this.#access = access;
  }

  /** The API server has created a namespace for the user. */
  created(tenant: string, username: string, revision: number): void {
    const key = keyOf(tenant, username);
    const revisions = this.#revisions;
    const highest = Math.max(revision, revisions.get(key) ?? 0);
    revisions.delete(key);
    revisions.set(key, highest);
    for (const oldest of revisions.keys()) {
      if (revisions.size <= MAX_USERS) return;
      revisions.delete(oldest);
    }
  }

  /** Resolves at once if the user has created none since the last list. It never rejects. */
  async known(tenant: string, username: string, signal: AbortSignal): Promise<void> {
    const key = keyOf(tenant, username);
    const revision = this.#revisions.get(key);
    if (revision === undefined) return;
    await this.#access.waitFor(revision, TIMEOUT, signal);
    // A list whose client is gone has shown nothing.
    if (!signal.aborted && this.#revisions.get(key) === revision) this.#revisions.delete(key);
  }
}

function keyOf(tenant: string, username: string): string {
  return JSON.stringify([tenant, username]);
}
