/**
 * Equality of JSON values.
 */
import { isJSONObject, ownValue } from './json-object.ts';

/**
 * Whether two JSON values are equal; the order of keys does not matter. It does not recurse: the client
 * chooses the depth.
 */
export function isEqual(a: unknown, b: unknown): boolean {
  const pending: [unknown, unknown][] = [[a, b]];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [one, other] = pair;
    if (one === other) continue;
    if (Array.isArray(one) && Array.isArray(other)) {
      if (one.length !== other.length) return false;
      for (const [at, value] of one.entries()) pending.push([value, other[at]]);
    } else if (isJSONObject(one) && isJSONObject(other)) {
      const keys = Object.keys(one);
      if (keys.length !== Object.keys(other).length) return false;
      for (const key of keys) pending.push([ownValue(one, key), ownValue(other, key)]);
    } else return false;
  }
  return true;
}
