/**
 * Names of namespaces that the API server itself has confirmed, for a cluster whose authorizers are not known
 * to be Node and RBAC alone. A review counts for a minute, and until the user's access in the index changes.
 */
import type { Clock } from '../../lib/clock.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

/** Milliseconds for which a review counts. */
const TTL = 60_000;
/** Reviews of one request in flight. */
const CONCURRENT = 8;

/** @throws StatusError if the API server does not answer */
export type ReviewName = (name: string) => Promise<boolean>;

interface Review {
  readonly isAllowed: boolean;
  readonly at: number;
}

interface Reviews {
  readonly byName: Map<string, Review>;
  /** Of the user's access, when these reviews began. */
  readonly generation: number;
}

export class ConfirmedNames {
  readonly #clock: Clock;
  readonly #reviews = new WeakMap<VisibleNamespaces, Reviews>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @returns those of the names that the user is to be shown
   * @throws StatusError as `review` does
   */
  async confirm(
    view: VisibleNamespaces,
    names: readonly string[],
    review: ReviewName,
  ): Promise<ReadonlySet<string>> {
    const known = this.#reviewsOf(view).byName;
    const now = this.#clock.now();
    const asked = names.filter((name) => (known.get(name)?.at ?? Number.NEGATIVE_INFINITY) + TTL <= now);
    const answers = new Map<string, boolean>();
    await mapWithConcurrency(asked, CONCURRENT, async (name) => {
      const { byName, generation } = this.#reviewsOf(view);
      const isAllowed = await review(name);
      answers.set(name, isAllowed);
      // If the user's access changed meanwhile, the answer may be older than the change.
      if (generation === view.generation) byName.set(name, { isAllowed, at: now });
    });
    return new Set(names.filter((name) => answers.get(name) ?? known.get(name)?.isAllowed));
  }

  #reviewsOf(view: VisibleNamespaces): Reviews {
    const { generation } = view;
    const known = this.#reviews.get(view);
    if (known?.generation === generation) return known;
    const reviews = { byName: new Map<string, Review>(), generation };
    this.#reviews.set(view, reviews);
    return reviews;
  }
}
