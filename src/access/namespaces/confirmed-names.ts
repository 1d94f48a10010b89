/**
 * Names of namespaces that the API server itself has confirmed, for a cluster whose authorizers are not known
 * to be Node and RBAC alone. A review counts for a minute, and until the user's access in the index changes;
 * its outcome is stored for longer, since a watch has to tell which names are refused now.
 */
import type { UserInfo } from '../../api/authentication-v1.ts';
import type { Clock } from '../../lib/clock.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

/** Milliseconds for which a review counts. */
const TTL = 60_000;
/** Reviews of one request in flight. */
const CONCURRENT = 8;
/** Milliseconds after a refusal in which an open watch, here or of another process, may show the name. */
const MAX_SHOWN = 6 * 60_000;
/** Users of one view, with different uids or extras, whose reviews are stored. */
const MAX_USERS = 16;

/** @throws StatusError if the API server does not answer */
export type ReviewName = (name: string) => Promise<boolean>;

/** Whose reviews: another authorizer may decide by everything that it is told of the user. */
export interface Confirmed {
  readonly view: VisibleNamespaces;
  readonly user: UserInfo;
}

interface Review {
  readonly isAllowed: boolean;
  readonly at: number;
  /** Of the user's access, when the review began. */
  readonly generation: number;
  /** When a name that was allowed came to be refused; undefined if it was never allowed before. */
  readonly revoked: { readonly revision: number; readonly at: number } | undefined;
}

export class ConfirmedNames {
  readonly #clock: Clock;
  readonly #known: () => number;
  /** By view and user; the users that came last are last. */
  readonly #reviews = new WeakMap<VisibleNamespaces, Map<string, Map<string, Review>>>();

  /** @param known the highest revision of which a client may have been told */
  constructor(clock: Clock, known: () => number) {
    this.#clock = clock;
    this.#known = known;
  }

  /**
   * @returns those of the names that the user is to be shown
   * @throws StatusError as `review` does
   */
  async confirm(
    confirmed: Confirmed,
    names: readonly string[],
    review: ReviewName,
  ): Promise<ReadonlySet<string>> {
    const { view } = confirmed;
    const reviews = this.#reviewsOf(confirmed);
    const now = this.#clock.now();
    const shown = new Set<string>();
    const asked: string[] = [];
    for (const name of names) {
      const known = reviews.get(name);
      const counts = known?.generation === view.generation && known.at + TTL > now;
      if (!counts) asked.push(name);
      else if (known.isAllowed) shown.add(name);
    }
    await mapWithConcurrency(asked, CONCURRENT, async (name) => {
      const { generation } = view;
      const isAllowed = await review(name);
      if (isAllowed) shown.add(name);
      // If the user's access changed meanwhile, the answer may be older than the change.
      if (generation === view.generation) this.#store(reviews, name, { isAllowed, at: now, generation });
    });
    return shown;
  }

  /** Whether it is known what the user was shown of the name. */
  isKnown(confirmed: Confirmed, name: string): boolean {
    return this.#reviewsOf(confirmed).has(name);
  }

  /** Whether a client that has seen the revision may have a name that is refused now. */
  isRevokedSince(confirmed: Confirmed, name: string, revision: number): boolean {
    const revoked = this.#reviewsOf(confirmed).get(name)?.revoked;
    if (revoked === undefined) return false;
    return revision <= revoked.revision || revoked.at + MAX_SHOWN >= this.#clock.now();
  }

  #store(reviews: Map<string, Review>, name: string, review: Omit<Review, 'revoked'>): void {
    const before = reviews.get(name);
    const isNew = before?.isAllowed === true && !review.isAllowed;
    const revoked = isNew ? { revision: this.#known(), at: this.#clock.now() } : before?.revoked;
    reviews.set(name, { ...review, revoked: review.isAllowed ? undefined : revoked });
  }

  #reviewsOf({ view, user }: Confirmed): Map<string, Review> {
    const users = this.#reviews.get(view) ?? new Map<string, Map<string, Review>>();
    this.#reviews.set(view, users);
    const key = keyOf(user);
    const reviews = users.get(key) ?? new Map<string, Review>();
    users.delete(key);
    users.set(key, reviews);
    for (const oldest of users.keys()) {
      if (users.size <= MAX_USERS) break;
      users.delete(oldest);
    }
    return reviews;
  }
}

/** Of the whole user, however groups and extras are ordered. */
function keyOf({ username, uid, groups, extra }: UserInfo): string {
  const extras = Object.entries(extra).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([username, uid, [...groups].sort(), extras]);
}
