/**
 * With which groups each user was served last. A user whose groups have changed (roles in Keystone, another
 * token) sees other namespaces from one request to the next, and no change in the index says so: a watch
 * cannot go on from what the user saw before.
 */
import type { VisibleNamespaces } from './visible-namespaces.ts';

interface Served {
  readonly identity: string;
  /** The highest revision that was known when the groups were seen to have changed; undefined if never. */
  readonly changedAt: number | undefined;
  /** The lowest revision that a client was given since then. */
  readonly listed: number;
}

/** Each takes about 200 bytes. */
const MAX_USERS = 10_000;

export class ServedUsers {
  readonly #known: () => number;
  readonly #maxUsers: number;
  /** The least recently served first. */
  readonly #users = new Map<string, Served>();

  /** @param known the highest revision of which a client may have been told */
  constructor(known: () => number, maxUsers = MAX_USERS) {
    this.#known = known;
    this.#maxUsers = maxUsers;
  }

  /** A client was given all namespaces of the view, and goes on from the revision. */
  listed(view: VisibleNamespaces, revision: number): void {
    const served = this.#serve(view);
    this.#store(view, { ...served, listed: Math.min(served.listed, revision) });
  }

  /**
   * Whether a client may have got the revision while the user had other groups. Then it is to list again;
   * from the revision of that list it can go on.
   */
  mayHaveChanged(view: VisibleNamespaces, revision: number): boolean {
    const served = this.#serve(view);
    this.#store(view, served);
    return served.changedAt !== undefined && revision <= served.changedAt && revision < served.listed;
  }

  #serve(view: VisibleNamespaces): Served {
    const { identity } = view;
    const before = this.#users.get(userOf(view));
    if (before === undefined) return { identity, changedAt: undefined, listed: Number.POSITIVE_INFINITY };
    if (before.identity === identity) return before;
    return { identity, changedAt: this.#known(), listed: Number.POSITIVE_INFINITY };
  }

  #store(view: VisibleNamespaces, served: Served): void {
    const user = userOf(view);
    this.#users.delete(user);
    this.#users.set(user, served);
    const [oldest] = this.#users.keys();
    if (this.#users.size > this.#maxUsers && oldest !== undefined) this.#users.delete(oldest);
  }
}

function userOf({ tenant, subject: { cluster } }: VisibleNamespaces): string {
  return JSON.stringify([tenant, cluster.tenant, cluster.username]);
}
