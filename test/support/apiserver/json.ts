/** JSON as the stand-in stores it, and guards that narrow parsed JSON without casts. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member as an object; an empty one if it is absent or of another type. */
export function objectAt(parent: JsonObject | undefined, key: string): JsonObject {
  const value = parent?.[key];
  return isObject(value) ? value : {};
}

/** The member as an object, which is added if it is absent. */
export function ensureObject(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  if (isObject(value)) return value;
  const created: JsonObject = {};
  parent[key] = created;
  return created;
}

/** The member as text; empty if it is absent or of another type. */
export function textAt(parent: JsonObject | undefined, key: string) {
  const value = parent?.[key];
  return typeof value === 'string' ? value : '';
}

/** The member as a list of texts; empty if it is absent. */
export function textsAt(parent: JsonObject | undefined, key: string) {
  const value = parent?.[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The member as a list of objects; empty if it is absent. */
export function objectsAt(parent: JsonObject | undefined, key: string): JsonObject[] {
  const value = parent?.[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
}
