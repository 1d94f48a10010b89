/**
 * The portal's cookies. The prefix makes browsers refuse them from any other host, without TLS, and for a part of the
 * site only. `Lax`, since a browser comes back from an issuer by a link from another site; forms are protected by
 * tokens of their own (`csrf.ts`). RFC 6265; draft-ietf-httpbis-rfc6265bis §4.1.3.2.
 */
import { type HeaderField, type HeaderList, headerValues } from '../lib/header-list.ts';

export const SESSION_COOKIE = '__Host-stonegate';
/** Tells browsers apart that have not signed in yet. */
export const VISIT_COOKIE = '__Host-stonegate-visit';
/** A sign-in that has been sent to its issuer. */
export const OIDC_COOKIE = '__Host-stonegate-oidc';

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';

/** @returns undefined where the cookie is absent, or there are several: one of them is somebody else's */
export function cookieOf(headers: HeaderList, name: string): string | undefined {
  const values = headerValues(headers, 'cookie')
    .flatMap((field) => field.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/** @param value of `[A-Za-z0-9_.-]` alone. It ends with the browser; what it stands for may end sooner. */
export function setCookie(name: string, value: string): HeaderField {
  return ['Set-Cookie', `${name}=${value}; ${ATTRIBUTES}`];
}

export function clearCookie(name: string): HeaderField {
  return ['Set-Cookie', `${name}=; ${ATTRIBUTES}; Max-Age=0`];
}
