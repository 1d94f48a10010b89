/** JSON as the stand-in keeps it, and the guards that turn parsed text into it without casts. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member as an object; an empty one where it is absent or of another kind. */
export function objectAt(parent: JsonObject | undefined, key: string): JsonObject {
  const value = parent?.[key];
  return isObject(value) ? value : {};
}

/** The member as an object, put there first where it is absent. */
export function ensureObject(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  if (isObject(value)) return value;
  const created: JsonObject = {};
  parent[key] = created;
  return created;
}

/** The member as text; empty where it is absent or of another kind. */
export function textAt(parent: JsonObject | undefined, key: string): string {
  const value = parent?.[key];
  return typeof value === 'string' ? value : '';
}

/** The member as a list of texts; empty where it is absent. */
export function textsAt(parent: JsonObject | undefined, key: string): string[] {
  const value = parent?.[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The member as a list of objects; empty where it is absent. */
export function objectsAt(parent: JsonObject | undefined, key: string): JsonObject[] {
  const value = parent?.[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
}
