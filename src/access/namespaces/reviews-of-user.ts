/**
 * The reviews of one user's names, and the open watches that are told of them. While there are such watches,
 * the names that they show are reviewed again: another authorizer says nothing when it comes to refuse one.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { Clock, Timer } from '../../lib/clock.ts';

/** Milliseconds for which a review counts, and between two rounds of further reviews. */
const TTL = 60_000;
/** Reviews of one round, of all watches of the user together. */
const MAX_REVIEWED = 200;
/** Milliseconds after a refusal in which an open watch, here or of another process, may show the name. */
export const MAX_SHOWN = 6 * 60_000;

/** @throws StatusError if the API server does not answer */
export type ReviewName = (name: string) => Promise<boolean>;

interface Answered {
  readonly isAllowed: boolean;
  /** When the review began. */
  readonly at: number;
  /** Higher than those of all reviews that began before. */
  readonly begun: number;
  /** Of the user's access, when the review began. */
  readonly generation: number;
}

export interface Review extends Answered {
  /** When a name that was allowed came to be refused; undefined if it was never allowed before. */
  readonly revoked: { readonly revision: number; readonly at: number } | undefined;
}

/** An open watch. */
export interface ReviewFollower {
  /** With the credential of the watch. */
  readonly review: ReviewName;
  /** The names that its client has. */
  shown(): Iterable<string>;
  /** The name is allowed or refused now, and was not before. */
  reviewed(name: string, isAllowed: boolean): void;
  /** The API server did not answer a further review: the names are reviewed in the next round. */
  postponed(error: StatusError): void;
  /** An unexpected error of a further review. */
  failed(error: unknown): void;
}

export class ReviewsOfUser {
  readonly #clock: Clock;
  readonly #isInView: (name: string) => boolean;
  readonly #reviews = new Map<string, Review>();
  /** With what reviews their names again; the oldest first. */
  readonly #followers = new Map<ReviewFollower, (names: readonly string[]) => Promise<void>>();
  #timer: Timer | undefined;
  #isReviewing = false;
  #forgottenAt = 0;

  /** @param isInView whether the name is one that may have to be reviewed again */
  constructor(clock: Clock, isInView: (name: string) => boolean) {
    this.#clock = clock;
    this.#isInView = isInView;
  }

  /** How many names have a review. */
  get size(): number {
    return this.#reviews.size;
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  get(name: string): Review | undefined {
    return this.#reviews.get(name);
  }

  /** @returns undefined if the name is to be reviewed */
  current(name: string, generation: number): Review | undefined {
    const review = this.#reviews.get(name);
    return review?.generation === generation && review.at + TTL > this.#clock.now() ? review : undefined;
  }

  /** @param known the highest revision of which a client may have been told */
  store(name: string, answered: Answered, known: number): void {
    const before = this.#reviews.get(name);
    if (before !== undefined && before.begun > answered.begun) return;
    const { isAllowed } = answered;
    const isNew = before?.isAllowed === true && !isAllowed;
    const revoked = isNew ? { revision: known, at: this.#clock.now() } : before?.revoked;
    this.#reviews.set(name, { ...answered, revoked: isAllowed ? undefined : revoked });
    this.#forgetUnused();
    if (before?.isAllowed === isAllowed) return;
    for (const follower of [...this.#followers.keys()]) follower.reviewed(name, isAllowed);
  }

  /** Namespaces come and go while a watch is open. */
  #forgetUnused(): void {
    const now = this.#clock.now();
    if (this.#forgottenAt + TTL > now) return;
    this.#forgottenAt = now;
    const shown = this.#shown();
    for (const [name, { at, revoked }] of this.#reviews)
      if (!shown.has(name) && !this.#isInView(name) && Math.max(at, revoked?.at ?? 0) + MAX_SHOWN < now)
        this.#reviews.delete(name);
  }

  #shown(): ReadonlySet<string> {
    return new Set([...this.#followers.keys()].flatMap((each) => [...each.shown()]));
  }

  /** Those that were reviewed longest ago, as many as one round reviews. */
  oldest(names: readonly string[]): readonly string[] {
    if (names.length <= MAX_REVIEWED) return names;
    const begun = (name: string) => this.#reviews.get(name)?.begun ?? 0;
    return [...names].sort((one, other) => begun(one) - begun(other)).slice(0, MAX_REVIEWED);
  }

  /**
   * @param reviewAgain reviews those of the names whose review no longer counts
   * @returns ends it
   */
  follow(follower: ReviewFollower, reviewAgain: (names: readonly string[]) => Promise<void>): () => void {
    this.#followers.set(follower, reviewAgain);
    this.#later();
    return () => {
      this.#followers.delete(follower);
      if (this.isFollowed) return;
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  #later(): void {
    if (this.#timer !== undefined || this.#isReviewing || !this.isFollowed) return;
    this.#timer = this.#clock.after(TTL, () => {
      this.#timer = undefined;
      void this.#reviewAgain();
    });
  }

  /** One round at a time. Never rejects. */
  async #reviewAgain(): Promise<void> {
    this.#isReviewing = true;
    for (const [follower, reviewAgain] of this.#followers) {
      try {
        await reviewAgain([...this.#shown()]);
        break;
      } catch (error) {
        // The next watch reviews if the client of this one is gone.
        if (!this.#followers.has(follower)) continue;
        // The names stay until the next round, or until the watch ends.
        if (error instanceof StatusError) {
          follower.postponed(error);
          break;
        }
        follower.failed(error);
      }
    }
    this.#isReviewing = false;
    this.#later();
  }
}
