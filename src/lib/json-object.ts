/**
 * Objects parsed from JSON of other programs, whose content is not trusted.
 */

export type JSONObject = Readonly<Record<string, unknown>>;

export function isJSONObject(value: unknown): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns undefined for what is no JSON; without the parser's message, which would quote the text */
export function readJSON(text: string | Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

/** @returns undefined for what is no JSON object */
export function readJSONObject(text: string | Buffer): JSONObject | undefined {
  const value = readJSON(text);
  return isJSONObject(value) ? value : undefined;
}

/**
 * A list in an object that Go has written: an empty one may be null.
 *
 * @returns undefined for anything else
 */
export function goList(value: unknown): readonly unknown[] | undefined {
  if (value === null) return [];
  return Array.isArray(value) ? value : undefined;
}

/**
 * Looks up a key that a client chooses: an object also has inherited properties such as `constructor`.
 *
 * @returns undefined if the property is not the record's own
 */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** @returns undefined if a field on the way is missing, or no object holds it */
export function fieldAt(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const field of path) found = isJSONObject(found) ? ownValue(found, field) : undefined;
  return found;
}

/** @returns an empty list for anything else */
export function listAt(value: unknown, field: string): readonly unknown[] {
  const found = fieldAt(value, field);
  return Array.isArray(found) ? found : [];
}
