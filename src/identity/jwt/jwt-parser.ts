/**
 * Parses a JWT without verifying it, so that its issuer is known before its keys are fetched.
 * RFC 7519 §3; RFC 8725 §2.
 */
import { type JSONObject, ownValue, readJSONObject } from '../../lib/json-object.ts';
import { keysIn } from '../../lib/strict-json.ts';

export interface JWTParts {
  readonly header: JSONObject;
  readonly payload: JSONObject;
  /** False if an object in the token has a member twice, which two parsers could read differently. */
  readonly unambiguous: boolean;
}

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;

/** Entra ID's largest tokens are about 16 kB. */
const MAX_LENGTH = 64 * 1024;

/** @returns undefined if the text is not in the form of a signed JWT: a compact JWS of two JSON objects */
export function readJWT(token: string): JWTParts | undefined {
  if (token.length > MAX_LENGTH) return undefined;
  const [, first = '', second = ''] = COMPACT.exec(token) ?? [];
  const header = readObject(first);
  const payload = readObject(second);
  if (header === undefined || payload === undefined) return undefined;
  const keys = [keysIn(header.text, header.object), keysIn(payload.text, payload.object)];
  if (keys.includes('tooDeep')) return undefined;
  return {
    header: header.object,
    payload: payload.object,
    unambiguous: keys.every((each) => each === 'unique'),
  };
}

/** A string member; undefined if it is absent or anything else. */
export function stringMember(object: JSONObject, name: string): string | undefined {
  const value = ownValue(object, name);
  return typeof value === 'string' ? value : undefined;
}

function readObject(part: string): { text: string; object: JSONObject } | undefined {
  const text = Buffer.from(part, 'base64url').toString('utf8');
  const object = readJSONObject(text);
  return object && { text, object };
}
