/**
 * A part that outlives a reload while what it was made of stays the same: connections and caches are not thrown
 * away because a certificate elsewhere was renewed.
 */

export interface Kept<T> {
  readonly current: T | undefined;
  /** The current part if it was made of the same, else what `build` makes. */
  take(madeOf: string, build: () => T): T;
  /** From now on there is no current part. */
  retire(): void;
  /** @returns ends the parts that were replaced or retired until now, to be called when nobody needs them any more */
  former(): () => Promise<void>;
  /** Ends every part, the current one too. */
  end(): Promise<void>;
}

/** @param close ends a part in good order */
export function createKept<T>(close: (part: T) => void | Promise<void>): Kept<T> {
  interface Made {
    readonly madeOf: string;
    readonly part: T;
  }
  let current: Made | undefined;
  const former = new Set<Made>();

  function retire(): void {
    if (current !== undefined) former.add(current);
    current = undefined;
  }

  async function endAll(parts: readonly Made[]): Promise<void> {
    await Promise.all(parts.map((made) => former.delete(made) && close(made.part)));
  }

  return {
    get current() {
      return current?.part;
    },
    take(madeOf, build) {
      if (current?.madeOf === madeOf) return current.part;
      const part = build();
      retire();
      current = { madeOf, part };
      return part;
    },
    retire,
    former() {
      const parts = [...former];
      return () => endAll(parts);
    },
    async end() {
      retire();
      await endAll([...former]);
    },
  };
}
