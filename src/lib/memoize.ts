/**
 * Functions whose results are cached: pure ones by the identity of an object or by a short text, and what is
 * loaded for a time.
 */
import type { Clock } from './clock.ts';

const MAX_TEXTS = 1_000;
/** Enough for the longest header names of extra attributes that Stonegate itself sends. */
const MAX_LENGTH = 128;

/**
 * Computes once per object; the result is garbage-collected with the object.
 *
 * @param compute must depend on its argument alone, which must not change; an error is not cached
 */
export function memoizeByReference<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const results = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = results.get(key);
    if (known !== undefined) return known.value;
    const value = compute(key);
    results.set(key, { value });
    return value;
  };
}

/**
 * Memoizes a function of texts that recur, such as header names. Clients choose them, so the cache is
 * bounded: it is cleared when it is full, and long texts are not cached.
 *
 * @param compute must depend on its argument alone; an error is not cached
 */
export function memoize<V>(compute: (text: string) => V): (text: string) => V {
  const results = new Map<string, { readonly value: V }>();
  return (text) => {
    const known = results.get(text);
    if (known !== undefined) return known.value;
    const value = compute(text);
    if (text.length > MAX_LENGTH) return value;
    if (results.size >= MAX_TEXTS) results.clear();
    results.set(text, { value });
    return value;
  };
}

/**
 * Loads a value when it is asked for, unless the last one is new enough. One load runs at a time; a failed
 * one is forgotten.
 *
 * @param milliseconds for which a value counts, from the beginning of its load
 */
export function memoizeFor<T>(milliseconds: number, clock: Clock, load: () => Promise<T>): () => Promise<T> {
  let known: { readonly value: Promise<T>; until: number } | undefined;
  function start() {
    const begun = clock.now();
    const started = { value: load(), until: Number.POSITIVE_INFINITY };
    const loaded = () => {
      started.until = begun + milliseconds;
    };
    const failed = () => {
      known = undefined;
    };
    started.value.then(loaded, failed);
    known = started;
    return started;
  }
  return () => (known !== undefined && clock.now() < known.until ? known : start()).value;
}
