/**
 * Links to a page with a secret in them, such as that of an invitation.
 */
import type { HeaderField } from '../../lib/header-list.ts';
import type { OwnPage, PortalContext } from './context.ts';
import { clearCookie, cookieOf, setCookie } from './cookies.ts';
import type { PortalRequest } from './request.ts';
import { type PortalResponse, seeOther } from './response.ts';

/** Characters: more than a secret has. */
const MAX_SECRET = 256;

/** Answers every link alike, whether there is such a secret or not. */
export function followLink(
  page: OwnPage,
  { path }: PortalRequest,
  { sealer }: PortalContext,
): PortalResponse {
  const begin = page.path.length + 1;
  const secret = path.slice(begin, begin + MAX_SECRET);
  return seeOther(page.path, [setCookie(cookieFor(page), sealer.seal(secret, sealedFor(page)))]);
}

/** The secret of the link that the browser has followed. */
export function linkSecret(
  page: OwnPage,
  { exchange }: PortalRequest,
  { sealer }: PortalContext,
): string | undefined {
  if (page.greeting === undefined) return undefined;
  const sealed = cookieOf(exchange.headers, cookieFor(page));
  return (sealed && sealer.open(sealed, sealedFor(page))) || undefined;
}

export function clearSecret(page: OwnPage): readonly HeaderField[] {
  return page.greeting === undefined ? [] : [clearCookie(cookieFor(page))];
}

function cookieFor(page: OwnPage): string {
  return `__Host-stonegate-${sealedFor(page)}`;
}

function sealedFor({ path }: OwnPage): string {
  return path.slice(1);
}
