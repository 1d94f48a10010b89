/**
 * One decision of the index, compared with the API server's again and again until they agree, or until it is
 * certain that they do not: a right may have changed in between. See docs/access.md for the rule.
 */
import type { Clock, Timer } from '../lib/clock.ts';
import type { Question, RBACUser } from '../rbac/attributes.ts';
import type { Change } from '../rbac/change.ts';
import { allows } from '../rbac/decide.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import { intersects, keysOfUser } from '../rbac/subject-key.ts';
import type { ReviewedAccess } from './ports.ts';

/** Milliseconds from a review that differs to the next. */
const DELAYS = [1_000, 5_000, 30_000] as const;
/** Milliseconds to the next attempt if the API server does not answer. */
const FURTHER_DELAY = 30_000;
/** Milliseconds after which a difference that could not be confirmed is given up. */
const LONGEST = 300_000;
/** Milliseconds after which a comparison that finds all reviews in use tries again. */
const BUSY_DELAY = 1_000;

export interface ComparisonOptions {
  readonly index: RBACIndex;
  /** Otherwise an "allowed" or "denied" of the API server may be another authorizer's. */
  readonly isRBACAlone: boolean;
  readonly clock: Clock;
  readonly user: RBACUser;
  readonly question: Question;
  /** @returns undefined if the API server does not answer; `busy` if too many reviews run */
  readonly review: () => Promise<ReviewedAccess | 'busy' | undefined>;
  /** @returns undefined if the API server does not answer */
  readonly revision: () => Promise<number | undefined>;
  readonly onEnd: (result: ComparisonResult) => void;
}

export type ComparisonResult =
  | 'agreed'
  | 'settled'
  | 'otherAuthorizer'
  | 'differed'
  | 'unsettled'
  | 'unknown'
  | 'failed';

export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #unsubscribe: () => void;
  readonly #since: number;
  /** Reviews in a row that differed, without a change that concerned the user since before the first. */
  #differed = 0;
  #isFirst = true;
  /** Whether a change has concerned the user since the review before. */
  #hasChanged = false;
  /** Read after the last review; the index has not passed it. */
  #revision: number | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(options: ComparisonOptions) {
    this.#options = options;
    this.#since = options.clock.now();
    this.#unsubscribe = options.index.subscribe({
      changed: (change) => {
        if (concerns(change, options.user)) this.#userChanged();
      },
      restored: () => this.#userChanged(),
      progressed: (revision) => {
        if (this.#revision !== undefined && revision >= this.#revision) this.#end('differed');
      },
    });
  }

  /** Whether the comparison waits, for its next review or for the index. */
  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /** Never rejects. @param decide called when the API server has answered */
  async compare(decide: () => boolean): Promise<void> {
    const { review, isRBACAlone } = this.#options;
    const reviewed = await review();
    if (this.#isOver) return;
    if (reviewed === 'busy') this.#later(BUSY_DELAY);
    else if (reviewed === undefined) this.#unanswered();
    else if (reviewed === 'unknown') this.#end('unknown');
    else if ((reviewed === 'allowed') === decide()) this.#end(this.#isFirst ? 'agreed' : 'settled');
    else if (!isRBACAlone && reviewed !== 'notAllowed') this.#end('otherAuthorizer');
    else await this.#differs();
  }

  stop(): void {
    this.#isOver = true;
    this.#unsubscribe();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #unanswered(): void {
    if (this.#isFirst) this.#end('failed');
    else this.#later(FURTHER_DELAY);
  }

  async #differs(): Promise<void> {
    this.#isFirst = false;
    if (this.#hasChanged) {
      this.#restart();
      return;
    }
    const delay = DELAYS[this.#differed];
    if (delay === undefined) {
      await this.#awaitIndex();
      return;
    }
    this.#differed += 1;
    this.#later(delay);
  }

  /** The last review counts once the index has passed a revision from after it. */
  async #awaitIndex(): Promise<void> {
    const { index, revision, clock } = this.#options;
    const current = await revision();
    if (this.#isOver) return;
    if (this.#hasChanged) this.#restart();
    else if (current === undefined) this.#later(FURTHER_DELAY);
    else if (index.revision >= current) this.#end('differed');
    else {
      this.#revision = current;
      this.#timer = clock.after(this.#left(), () => this.#end('unsettled'));
    }
  }

  /** What was compared before is of an earlier state. */
  #userChanged(): void {
    this.#hasChanged = true;
    if (this.#revision === undefined) return;
    this.#revision = undefined;
    this.#timer?.cancel();
    this.#restart();
  }

  #restart(): void {
    this.#hasChanged = false;
    this.#differed = 0;
    this.#later(DELAYS[0]);
  }

  #later(delay: number): void {
    const { clock, index, user, question } = this.#options;
    if (delay > this.#left()) {
      this.#end('unsettled');
      return;
    }
    this.#timer = clock.after(delay, () => {
      this.#timer = undefined;
      void this.compare(() => allows(index, user, question));
    });
  }

  #left(): number {
    return Math.max(0, this.#since + LONGEST - this.#options.clock.now());
  }

  #end(result: ComparisonResult): void {
    this.stop();
    this.#options.onEnd(result);
  }
}

function concerns(change: Change, user: RBACUser): boolean {
  if (change.kind !== 'access' || change.tenant !== user.tenant) return false;
  return intersects(change.subjects, keysOfUser(user));
}
