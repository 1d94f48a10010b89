/**
 * Looks into a JWT without believing it: enough to say whose it claims to be and which key it asks for. Before a
 * token is believed its JSON must also be unambiguous: with a repeated member two readers of one token may see two
 * different people. RFC 7519 §3 and §4; RFC 7515 §4; RFC 8725 §2.
 */
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';

export interface JWTParts {
  readonly header: JSONObject;
  readonly payload: JSONObject;
  /** False where an object in it has a member twice. */
  readonly unambiguous: boolean;
}

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;
/** Brackets and strings; a string is a member's name where a colon follows. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?|[{}[\]]/g;

/** Entra ID's largest tokens are some 16 kB. */
const MAX_LENGTH = 64 * 1024;

/** @returns undefined where the text has not the shape of a signed JWT: a compact JWS of two JSON objects */
export function readJWT(token: string): JWTParts | undefined {
  if (token.length > MAX_LENGTH) return undefined;
  const [, first, second] = COMPACT.exec(token) ?? [];
  if (first === undefined || second === undefined) return undefined;
  const header = readObject(first);
  const payload = readObject(second);
  if (header === undefined || payload === undefined) return undefined;
  return {
    header: header.object,
    payload: payload.object,
    unambiguous: hasUniqueNames(header.text) && hasUniqueNames(payload.text),
  };
}

/** A string member; undefined where it is absent or anything else. */
export function stringMember(object: JSONObject, name: string): string | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function readObject(part: string): { text: string; object: JSONObject } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Buffer.from(part, 'base64url'),
    );
    const value: unknown = JSON.parse(text);
    return isJSONObject(value) ? { text, object: value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** @param text valid JSON */
function hasUniqueNames(text: string): boolean {
  const open: (Set<unknown> | undefined)[] = [];
  for (const [token, string, colon] of text.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (string !== undefined && colon !== undefined) {
      const names = open.at(-1);
      const name: unknown = JSON.parse(string);
      if (names?.has(name)) return false;
      names?.add(name);
    }
  }
  return true;
}
