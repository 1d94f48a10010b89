/**
 * Parses a JWT without verifying it. Like kube-apiserver (Go's encoding/json), it takes the last of several
 * members with one name, and finds registered claims in any letter case. RFC 7519 §3 and §4; RFC 7515 §4;
 * RFC 8725 §2.
 */
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { membersOf, skipBlanks, writtenIn } from '../../lib/json-scan.ts';
import { keysIn } from '../../lib/strict-json.ts';

export interface JWTParts {
  readonly header: JSONObject;
  readonly payload: JSONObject;
  /** The signing input. */
  readonly signed: Buffer;
  readonly signature: Buffer;
  /** False if an object in the token has a member twice. */
  readonly unambiguous: boolean;
  /** The same for the header alone; go-jose refuses a duplicate there. */
  readonly unambiguousHeader: boolean;
  /** The issuer that the token names; empty if it names none. */
  readonly issuer: string;
  /** The registered claims; undefined if one of them has the wrong type. */
  readonly registered: RegisteredClaims | undefined;
}

export interface RegisteredClaims {
  readonly audiences: readonly string[];
  /** Seconds since the epoch. */
  readonly expiry?: number;
  readonly notBefore?: number;
  readonly claimNames: Readonly<Record<string, string>>;
  readonly claimSources: Readonly<Record<string, JSONObject>>;
}

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/** Entra ID's largest tokens are about 16 kB. */
const MAX_LENGTH = 64 * 1024;

/** @returns undefined if the text is not in the form of a signed JWT: a compact JWS of two JSON objects */
export function readJWT(token: string): JWTParts | undefined {
  if (token.length > MAX_LENGTH) return undefined;
  const [, first, second, third] = COMPACT.exec(token) ?? [];
  if (first === undefined || second === undefined || third === undefined) return undefined;
  // One base64url character at the end encodes no byte.
  if ([first, second, third].some((part) => part.length % 4 === 1)) return undefined;
  const header = readObject(first);
  const payload = readObject(second);
  if (header === undefined || payload === undefined) return undefined;
  const keys = keysIn(payload.text);
  if (keys === 'tooDeep') return undefined;
  const hasUniqueHeader = keysIn(header.text) === 'unique';
  return {
    header: header.object,
    payload: payload.object,
    signed: Buffer.from(`${first}.${signedPayload(header.object, second, payload.text)}`, 'utf8'),
    signature: Buffer.from(third, 'base64url'),
    unambiguous: hasUniqueHeader && keys === 'unique',
    unambiguousHeader: hasUniqueHeader,
    issuer: typed(payload.text, readIssuer) ?? '',
    registered: typed(payload.text, readRegistered),
  };
}

/** RFC 7797 §3: a header may say that the payload is signed unencoded. */
function signedPayload(header: JSONObject, encoded: string, text: string): string {
  return Object.hasOwn(header, 'b64') && header.b64 === false ? text : encoded;
}

/** A string member; undefined if it is absent or anything else. */
export function stringMember(object: JSONObject, name: string): string | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function readObject(part: string): { text: string; object: JSONObject } | undefined {
  try {
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(part, 'base64url'));
    const value: unknown = JSON.parse(text);
    return isJSONObject(value) ? { text, object: value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class WrongType extends Error {}

/** @param text a JSON object */
function typed<T>(text: string, read: (text: string) => T): T | undefined {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof WrongType) return undefined;
    throw error;
  }
}

function readIssuer(text: string): string {
  const values = membersNamed(text)('iss');
  return values.map(textOrNull).findLast((value) => value !== null) ?? '';
}

function readRegistered(text: string): RegisteredClaims {
  const values = membersNamed(text);
  for (const name of ['sub', 'nonce', 'at_hash']) for (const value of values(name)) textOrNull(value);
  for (const value of values('iat')) seconds(value);
  const expiry = values('exp').map(seconds).at(-1);
  const notBefore = values('nbf')
    .map((value) => (value === null ? undefined : seconds(value)))
    .at(-1);
  return {
    audiences: values('aud').map(texts).at(-1) ?? [],
    ...(expiry === undefined ? {} : { expiry }),
    ...(notBefore === undefined ? {} : { notBefore }),
    claimNames: Object.fromEntries(
      values('_claim_names').flatMap((value) => objectEntries(value, (each) => textOrNull(each) ?? '')),
    ),
    claimSources: Object.fromEntries(
      values('_claim_sources').flatMap((value) => objectEntries(value, source)),
    ),
  };
}

/** The values of all members with this name in any letter case, as Go matches field names. */
function membersNamed(text: string): (name: string) => readonly unknown[] {
  const bytes = Buffer.from(text);
  const members = [...membersOf(bytes, skipBlanks(bytes, 0))];
  return (name) =>
    members
      .filter((member) => foldedName(member.name) === name)
      .map(({ value }): unknown => JSON.parse(writtenIn(bytes, value)));
}

/** Go folds `ſ` and the Kelvin sign too. */
function foldedName(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
}

function textOrNull(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  throw new WrongType();
}

function texts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [textOrNull(value) ?? ''];
  return value.map((each: unknown) => textOrNull(each) ?? '');
}

/** About the largest time in Go; larger values wrap into the past. */
const LAST_SECOND = 9.223371974719e18;

/** A number, or a string that holds one. */
function seconds(value: unknown): number {
  const number =
    typeof value === 'string' && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value)
      ? Number(value)
      : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new WrongType();
  return Math.abs(number) > LAST_SECOND ? Number.NEGATIVE_INFINITY : Math.trunc(number);
}

function objectEntries<T>(value: unknown, read: (value: unknown) => T): [string, T][] {
  if (value === null) return [];
  if (!isJSONObject(value)) throw new WrongType();
  return Object.entries(value).map(([name, each]) => [name, read(each)]);
}

function source(value: unknown): JSONObject {
  if (value === null) return {};
  if (!isJSONObject(value)) throw new WrongType();
  for (const [name, each] of Object.entries(value))
    if (['endpoint', 'access_token', 'jwt'].includes(foldedName(name))) textOrNull(each);
  return value;
}
