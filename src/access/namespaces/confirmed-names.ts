/**
 * Names of namespaces that the API server itself has confirmed, for a cluster whose authorizers are not known
 * to be Node and RBAC alone. A review counts for a minute, and until the user's access in the index changes;
 * its outcome is stored for longer, since a watch has to tell which names are refused now.
 */
import type { UserInfo } from '../../api/authentication-v1.ts';
import type { Clock } from '../../lib/clock.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import {
  MAX_SHOWN,
  type Review,
  type ReviewFollower,
  type ReviewName,
  ReviewsOfUser,
} from './reviews-of-user.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

/** Reviews of one request in flight. */
const CONCURRENT = 8;
/** Users of one view, with different uids or extras, whose reviews are stored beside those of watches. */
const MAX_USERS = 16;

/** Whose reviews: another authorizer may decide by everything that it is told of the user. */
export interface Confirmed {
  readonly view: VisibleNamespaces;
  readonly user: UserInfo;
}

export class ConfirmedNames {
  readonly #clock: Clock;
  readonly #known: () => number;
  /** By view and user; the users that came last are last. */
  readonly #users = new WeakMap<VisibleNamespaces, Map<string, ReviewsOfUser>>();
  #begun = 0;

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
    const before = this.#begun;
    const shown = new Set<string>();
    const asked: string[] = [];
    for (const name of names) {
      const known = reviews.current(name, view.generation);
      if (known === undefined) asked.push(name);
      else if (known.isAllowed) shown.add(name);
    }
    await mapWithConcurrency(asked, CONCURRENT, async (name) => {
      const { generation } = view;
      this.#begun += 1;
      const begun = this.#begun;
      const at = this.#clock.now();
      const isAllowed = await review(name);
      if (isAllowed) shown.add(name);
      // If the user's access changed meanwhile, the answer may be older than the change.
      if (generation === view.generation)
        reviews.store(name, { isAllowed, at, begun, generation }, this.#known());
    });
    // A review that began later, for another request of the user, may have ended before.
    for (const name of shown) if (isRefusedSince(reviews.get(name), before)) shown.delete(name);
    return shown;
  }

  /** Whether it is known what the user was shown of the name. */
  isKnown(confirmed: Confirmed, name: string): boolean {
    return this.#reviewsOf(confirmed).get(name) !== undefined;
  }

  /** @returns those of the names that the last review, perhaps for another request, refused */
  refused(confirmed: Confirmed, names: Iterable<string>): readonly string[] {
    const reviews = this.#reviewsOf(confirmed);
    return [...names].filter((name) => reviews.get(name)?.isAllowed === false);
  }

  /** Whether a client that has seen the revision may have a name that is refused now. */
  isRevokedSince(confirmed: Confirmed, name: string, revision: number): boolean {
    const revoked = this.#reviewsOf(confirmed).get(name)?.revoked;
    if (revoked === undefined) return false;
    return revision <= revoked.revision || revoked.at + MAX_SHOWN >= this.#clock.now();
  }

  /**
   * Tells an open watch of the user's reviews. The names that it shows are reviewed again from time to time.
   *
   * @returns ends it
   */
  follow(confirmed: Confirmed, follower: ReviewFollower): () => void {
    const reviews = this.#reviewsOf(confirmed);
    return reviews.follow(follower, async (names) => {
      const pending = names.filter((name) => reviews.current(name, confirmed.view.generation) === undefined);
      await this.confirm(confirmed, reviews.oldest(pending), follower.review);
    });
  }

  #reviewsOf({ view, user }: Confirmed): ReviewsOfUser {
    const users = this.#users.get(view) ?? new Map<string, ReviewsOfUser>();
    this.#users.set(view, users);
    const key = keyOf(user);
    const reviews = users.get(key) ?? new ReviewsOfUser(this.#clock, (name) => view.holds(name));
    users.delete(key);
    users.set(key, reviews);
    if (users.size <= MAX_USERS) return reviews;
    for (const [oldest, { isFollowed }] of users) {
      if (users.size <= MAX_USERS) break;
      if (!isFollowed && oldest !== key) users.delete(oldest);
    }
    return reviews;
  }
}

function isRefusedSince(review: Review | undefined, begun: number): boolean {
  return review?.isAllowed === false && review.begun > begun;
}

/** Of the whole user, however groups and extras are ordered. */
function keyOf({ username, uid, groups, extra }: UserInfo): string {
  const extras = Object.entries(extra).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([username, uid, [...groups].sort(), extras]);
}
