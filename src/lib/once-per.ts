/**
 * A pure function that is computed once for each object it is asked about, and forgotten together with the object.
 * For what would otherwise be the same work at each request of the same person.
 */

/** @param make must depend on nothing but its argument, which must not change; what it throws is not remembered */
export function oncePer<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
