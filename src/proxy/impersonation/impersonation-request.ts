/**
 * Reads the impersonation headers of a request (`kubectl --as`): in one way, or the request is refused. A
 * field with this prefix that is none of the four known ones is refused too: if it were ignored,
 * `kubectl --as reader delete` would run with the caller's full rights.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */

import { StatusError } from '../../errors/status-error.ts';
import type { Extra } from '../../kubernetes/authentication-v1.ts';
import { EXTRA_KEY } from '../../kubernetes/reserved-names.ts';
import type { HeaderList } from '../../lib/header-list.ts';

/** Nothing of it is authorised yet. */
export interface ImpersonationRequest {
  readonly user: string;
  /** Empty if none is requested. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Extra;
}

/** Each value costs an access review. */
const MAX_VALUES = 64;
const ANY = 'impersonate';
const KNOWN: ReadonlySet<string> = new Set(['impersonate-user', 'impersonate-uid', 'impersonate-group']);
const EXTRA = 'impersonate-extra-';
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * @param headers as the client sent them, a character for each byte
 * @returns undefined if the request has no impersonation headers
 * @throws StatusError ImpersonationForbidden for a field that is none of Kubernetes', RequestMalformed for
 *   what cannot be read in one way, HeadersTooLarge for too many values
 */
export function impersonationRequest(headers: HeaderList): ImpersonationRequest | undefined {
  const fields = headers.filter(([name]) => isImpersonationField(name));
  if (fields.length === 0) return undefined;
  if (fields.length > MAX_VALUES)
    throw new StatusError(
      'HeadersTooLarge',
      `the request asks to impersonate ${fields.length} values; ${MAX_VALUES} are taken`,
    );
  const named = new Map<string, string[]>();
  const extra = new Map<string, string[]>();
  for (const [name, bytes] of fields) {
    const field = name.toLowerCase();
    const value = textOf(name, bytes);
    if (field.startsWith(EXTRA)) pushTo(extra, extraKey(field.slice(EXTRA.length)), value);
    else if (KNOWN.has(field)) pushTo(named, field, value);
    else throw unknownField(name);
  }
  const [user, ...users] = named.get('impersonate-user') ?? [];
  const [uid = '', ...uids] = named.get('impersonate-uid') ?? [];
  const groups = new Set(named.get('impersonate-group'));
  if (user === undefined)
    throw malformed('the request asks for groups, a uid or extra without impersonating a user');
  if (users.length > 0 || uids.length > 0) throw malformed('the request names more than one user or uid');
  return { user, uid, groups: [...groups], extra: Object.fromEntries(extra) };
}

/** Whether the request has headers that ask for impersonation, or could be read so. */
export function hasImpersonationHeaders(headers: HeaderList): boolean {
  for (const field of headers) if (isImpersonationField(field[0])) return true;
  return false;
}

/** Called for every field of every request: most differ in the first letter. */
function isImpersonationField(name: string): boolean {
  return (name.startsWith('I') || name.startsWith('i')) && name.slice(0, ANY.length).toLowerCase() === ANY;
}

function pushTo(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** The key as it will be reviewed and sent on: unescaped and in lower case, however the client wrote it. */
function extraKey(escaped: string): string {
  const key = unescaped(escaped).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  if (EXTRA_KEY.test(key)) return key;
  throw malformed('the key of an extra may hold a-z, 0-9, "/", ".", "_" and "-"');
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch (cause) {
    throw malformed('the key of an extra has bad escapes', cause);
  }
}

/** A reader replaces bytes that are not UTF-8: two names would become one. */
function textOf(name: string, text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  if (text === '') throw malformed(`the header ${quoted(name)} is empty`);
  if (bytes.toString('latin1') !== text) throw malformed(`the header ${quoted(name)} holds other than bytes`);
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw malformed(`the header ${quoted(name)} is no UTF-8`, cause);
  }
}

function unknownField(name: string): StatusError {
  return new StatusError(
    'ImpersonationForbidden',
    `impersonation is not possible by the header ${quoted(name)}`,
  );
}

function malformed(why: string, cause?: unknown): StatusError {
  return new StatusError('RequestMalformed', `impersonation is not possible: ${why}`, { cause });
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
