/**
 * Looking up by a name that a stranger chose: a record of JavaScript also answers for `constructor` and its like, which
 * nobody has put there.
 */

/** @returns undefined for what is not the record's own */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
