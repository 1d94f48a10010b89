/**
 * The portal's cookies and the IDs in them. Browsers accept the prefix `__Host-` only from this host, over
 * TLS and for the whole site. The session cookie is `Lax`, because a browser comes back from an issuer by a
 * cross-site link; forms have tokens (`csrf.ts`).
 * RFC 6265; draft-ietf-httpbis-rfc6265bis §4.1.3.2.
 */
import { type HeaderField, type HeaderList, headerValues } from '../../lib/header-list.ts';

export const SESSION_COOKIE = '__Host-stonegate';
/** Identifies a browser before sign-in. */
export const VISIT_COOKIE = '__Host-stonegate-visit';
/** The sealed authorization request that the browser was sent to an issuer with. */
export const OIDC_COOKIE = '__Host-stonegate-oidc';

/** The sealed Keystone token of a sign-in, which can be exchanged for another project's. */
export const TOKEN_COOKIE = '__Host-stonegate-keystone';
/** The sealed message that the next page shows once. */
export const FLASH_COOKIE = '__Host-stonegate-flash';

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';
const ID_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{43}$/;

/** An ID of 256 random bits for a session or a visit. */
export function newID(random: { bytes(size: number): Buffer }): string {
  return random.bytes(ID_BYTES).toString('base64url');
}

/** Whether a value from outside has the form of an ID. */
export function isID(text: string | undefined): text is string {
  return text !== undefined && ID.test(text);
}

/** @returns undefined if the cookie is absent or sent more than once: one of them would be an attacker's */
export function cookieOf(headers: HeaderList, name: string): string | undefined {
  const values = headerValues(headers, 'cookie')
    .flatMap((field) => field.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/**
 * A session cookie: the browser deletes it when it ends.
 *
 * @param value only `[A-Za-z0-9_.-]`
 */
export function setCookie(name: string, value: string): HeaderField {
  return ['Set-Cookie', `${name}=${value}; ${ATTRIBUTES}`];
}

export function clearCookie(name: string): HeaderField {
  return ['Set-Cookie', `${name}=; ${ATTRIBUTES}; Max-Age=0`];
}
