/**
 * A pure function of short texts that come again and again, header names above all, with its results remembered. Bounded,
 * since strangers choose texts: emptied where it is full, and long texts are not kept.
 */

const MAX_TEXTS = 1_000;
/** Enough for the longest names of extra attributes that Stonegate itself sends. */
const MAX_LENGTH = 128;

/** @param make must depend on nothing but its argument; what it throws is not remembered */
export function remembered<V>(make: (text: string) => V): (text: string) => V {
  const made = new Map<string, { readonly value: V }>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known.value;
    const value = make(text);
    if (text.length > MAX_LENGTH) return value;
    if (made.size >= MAX_TEXTS) made.clear();
    made.set(text, { value });
    return value;
  };
}
