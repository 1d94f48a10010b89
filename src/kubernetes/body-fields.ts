/**
 * Reads fields of a body that Go will decode after us. Go's encoding/json also takes a field's name in
 * another case, so any other spelling of a field that a decision rests on is refused.
 */

import { StatusError } from '../errors/status-error.ts';
import { isJSONObject, type JSONObject, ownValue } from '../lib/json-object.ts';

/**
 * @param what the object's name in a refusal
 * @throws StatusError BodyMalformed if it is no object
 */
export function objectOf(value: unknown, what: string): JSONObject {
  if (isJSONObject(value)) return value;
  throw malformed(`${what} is no object`);
}

/**
 * @returns undefined if the field is absent or null
 * @throws StatusError BodyMalformed if the object has the field in another spelling
 */
export function fieldOf(object: JSONObject, name: string): unknown {
  const folded = fold(name);
  for (const key of Object.keys(object))
    if (key !== name && fold(key) === folded) throw malformed(`the field ${name} is spelled otherwise`);
  return ownValue(object, name) ?? undefined;
}

/**
 * @returns empty if the field is absent or null
 * @throws StatusError BodyMalformed if it is no string, or is spelled otherwise
 */
export function textOf(object: JSONObject, name: string): string {
  const value = fieldOf(object, name) ?? '';
  if (typeof value === 'string') return value;
  throw malformed(`the field ${name} is no string`);
}

/** @param why repeats nothing of the body but the names of known fields */
export function malformed(why: string, cause?: unknown): StatusError {
  return new StatusError('BodyMalformed', `the body of the request cannot be read: ${why}`, { cause });
}

/** Folds case as Go does: the long s and the Kelvin sign are letters of ASCII too. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}
