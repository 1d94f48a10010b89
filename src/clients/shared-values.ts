/**
 * Stores equal values once. `JSON.parse` makes a new string or object for each occurrence, which is most of
 * the memory of a hundred thousand similar objects.
 */

/** Above this many values the table starts anew: what is read later is shared with less. */
const MAX_VALUES = 100_000;

export class SharedValues<T> {
  readonly #values = new Map<string, T>();
  readonly #keyOf: (value: T) => string;

  /** @param keyOf equal for equal values */
  constructor(keyOf: (value: T) => string) {
    this.#keyOf = keyOf;
  }

  /** @returns the first value that is equal to this one */
  share(value: T): T {
    const key = this.#keyOf(value);
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    if (this.#values.size >= MAX_VALUES) this.#values.clear();
    this.#values.set(key, value);
    return value;
  }
}
