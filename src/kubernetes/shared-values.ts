/**
 * Shares one value among equal ones. `JSON.parse` makes a new string or object for each occurrence, which
 * is most of the memory of a hundred thousand similar objects. A list is in the order of namespaces, in
 * which few values recur, so the last ones are enough.
 */
import { LRUCache } from 'lru-cache';

const MAX_VALUES = 4_096;
/** Characters: longer keys are rarely equal. */
const MAX_KEY = 256;

export class SharedValues<T extends object | string> {
  readonly #values = new LRUCache<string, T>({ max: MAX_VALUES });
  readonly #keyOf: (value: T) => string;

  /** @param keyOf equal for equal values */
  constructor(keyOf: (value: T) => string) {
    this.#keyOf = keyOf;
  }

  /** @returns a value that is equal to this one, or this one */
  share(value: T): T {
    const key = this.#keyOf(value);
    if (key.length > MAX_KEY) return value;
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, value);
    return known ?? value;
  }
}
