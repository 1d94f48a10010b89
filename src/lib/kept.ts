/**
 * A part that outlives a reload while what it was made of stays the same: connections and caches are not thrown
 * away because a certificate elsewhere was renewed.
 */

export interface Kept<T> {
  readonly current: T | undefined;
  /** The current part if it was made of the same, else what `build` makes. */
  take(madeOf: string, build: () => T): T;
  /** Ends the parts that `take` has replaced; to be called once nothing new uses them. */
  endReplaced(): Promise<void>;
  /** Ends the current part too. */
  end(): Promise<void>;
}

/** @param close ends a part in good order */
export function createKept<T>(close: (part: T) => void | Promise<void>): Kept<T> {
  let current: { readonly madeOf: string; readonly part: T } | undefined;
  let replaced: T[] = [];
  const endReplaced = async (): Promise<void> => {
    const parts = replaced;
    replaced = [];
    await Promise.all(parts.map(close));
  };
  return {
    get current() {
      return current?.part;
    },
    take(madeOf, build) {
      if (current?.madeOf === madeOf) return current.part;
      const part = build();
      if (current !== undefined) replaced.push(current.part);
      current = { madeOf, part };
      return part;
    },
    endReplaced,
    async end() {
      if (current !== undefined) replaced.push(current.part);
      current = undefined;
      await endReplaced();
    },
  };
}
