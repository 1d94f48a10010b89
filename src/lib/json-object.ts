/**
 * JSON that somebody else wrote, while nothing in it is believed yet.
 */

export type JSONObject = Readonly<Record<string, unknown>>;

export function isJSONObject(value: unknown): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
