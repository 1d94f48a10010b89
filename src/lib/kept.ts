/**
 * A part that outlives a reload while what it was made of stays the same: connections and caches are not thrown
 * away because a certificate elsewhere was renewed. A reload takes two steps: what the next configuration needs is made
 * beside what is in force, and only when nothing can fail any more does all of it come into force together.
 */

/** What was prepared comes into force, or is as if it had never been. */
export interface TwoStep {
  /** Never throws. */
  commit(): void;
  /** Resolves when what was prepared has ended. What is in force stays untouched. */
  rollback(): Promise<void>;
}

export interface Kept<T> extends TwoStep {
  /** In force; undefined where there is none. */
  readonly current: T | undefined;
  /**
   * For what is being prepared: the part in force if it was made of the same, else what `build` makes. What nobody has
   * taken at the commit is retired by it.
   *
   * @param madeOf a new symbol for a part that never outlives a reload
   */
  take(madeOf: string | symbol, build: () => T): T;
  /** @returns ends the parts that were replaced or retired until now, to be called when nobody needs them any more */
  former(): () => Promise<void>;
  /** Ends every part, the current one too. */
  end(): Promise<void>;
}

export type Keeping = Pick<Kept<unknown>, 'commit' | 'rollback' | 'former' | 'end'>;

/**
 * @param close ends a part in good order
 * @param start begins what a part does by itself, as soon as it is in force; must not throw
 */
export function createKept<T>(
  close: (part: T) => void | Promise<void>,
  start: (part: T) => void = () => {},
): Kept<T> {
  interface Made {
    readonly madeOf: string | symbol;
    readonly part: T;
  }
  let current: Made | undefined;
  /** Taken since the last commit or rollback. */
  let next: Made | undefined;
  /** Built since then, whether still wanted or not. */
  const built = new Set<Made>();
  const former = new Set<Made>();

  function commit(): void {
    const isNew = next !== current;
    if (current !== undefined && isNew) former.add(current);
    for (const made of built) if (made !== next) former.add(made);
    built.clear();
    current = next;
    next = undefined;
    if (current !== undefined && isNew) start(current.part);
  }

  async function endAll(parts: readonly Made[]): Promise<void> {
    await Promise.all(parts.map((made) => former.delete(made) && close(made.part)));
  }

  return {
    get current() {
      return current?.part;
    },
    take(madeOf, build) {
      const same = [next, current].find((made) => made?.madeOf === madeOf);
      if (same === undefined) {
        next = { madeOf, part: build() };
        built.add(next);
      } else next = same;
      return next.part;
    },
    commit,
    async rollback() {
      const parts = [...built];
      for (const made of parts) former.add(made);
      built.clear();
      next = undefined;
      await endAll(parts);
    },
    former() {
      const parts = [...former];
      return () => endAll(parts);
    },
    async end() {
      next = undefined;
      commit();
      await endAll([...former]);
    },
  };
}

/** @param parts asked for each time, since there may be more of them by then */
export function keepTogether(parts: () => readonly Keeping[]): Keeping {
  return {
    commit() {
      for (const part of parts()) part.commit();
    },
    async rollback() {
      await Promise.all(parts().map((part) => part.rollback()));
    },
    former() {
      const ends = parts().map((part) => part.former());
      return async () => {
        await Promise.all(ends.map((end) => end()));
      };
    },
    async end() {
      await Promise.all(parts().map((part) => part.end()));
    },
  };
}
