/**
 * Stores equal values once. `JSON.parse` makes a new string or object for each occurrence, which is most of
 * the memory of a hundred thousand similar objects.
 */

/** Longer keys are rarely equal, and would keep the memory of objects that are gone. */
const MAX_KEY = 1_024;
/** Above this many characters of keys the table starts anew: what is read later is shared with less. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

export class SharedValues<T> {
  readonly #values = new Map<string, T>();
  readonly #keyOf: (value: T) => string;
  #characters = 0;
  #lastKey: string | undefined;
  #last: T | undefined;

  /** @param keyOf equal for equal values */
  constructor(keyOf: (value: T) => string) {
    this.#keyOf = keyOf;
  }

  /** How many values are stored. */
  get size(): number {
    return this.#values.size;
  }

  /** @returns the first value that is equal to this one, or this one */
  share(value: T): T {
    const key = this.#keyOf(value);
    // A list is in the order of namespaces, and comparing costs less than a look-up.
    if (key === this.#lastKey && this.#last !== undefined) return this.#last;
    if (key.length > MAX_KEY) return value;
    this.#lastKey = key;
    this.#last = this.#find(key, value);
    return this.#last;
  }

  #find(key: string, value: T): T {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    this.#characters += key.length;
    if (this.#characters > MAX_CHARACTERS) {
      this.#values.clear();
      this.#characters = key.length;
    }
    this.#values.set(key, value);
    return value;
  }
}
