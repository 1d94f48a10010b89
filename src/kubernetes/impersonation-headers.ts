/**
 * A user as impersonation header fields, as Kubernetes' clients send them.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
import type { HeaderField } from '../lib/header-list.ts';

export interface ImpersonatedUser {
  readonly username: string;
  /** Empty for none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Values beyond ASCII go out as their UTF-8 bytes. */
export function impersonationHeaders(user: ImpersonatedUser): HeaderField[] {
  const headers: HeaderField[] = [['Impersonate-User', utf8Bytes(user.username)]];
  if (user.uid !== '') headers.push(['Impersonate-Uid', utf8Bytes(user.uid)]);
  for (const group of user.groups) headers.push(['Impersonate-Group', utf8Bytes(group)]);
  for (const [key, values] of Object.entries(user.extra)) {
    const name = `Impersonate-Extra-${encodeExtraKey(key)}`;
    for (const value of values) headers.push([name, utf8Bytes(value)]);
  }
  return headers;
}

/**
 * The server lower-cases the name first and unescapes then, hence lower-case escapes of everything unusual.
 */
function encodeExtraKey(key: string): string {
  let encoded = '';
  for (const byte of Buffer.from(key, 'utf8')) {
    const character = String.fromCharCode(byte);
    encoded += /[a-z0-9._-]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
  }
  return encoded;
}

/** Node sends a header string's code units as single bytes. */
function utf8Bytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
