/**
 * The message that a page shows once after its form was done, sealed in a cookie for this session and page.
 * So a secret that is shown once is in no URL and in no memory here, and a reload does not show it again.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { HeaderField } from '../../lib/header-list.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import { createExpiringCache, type ExpiringCache } from '../../limits/expiring-cache.ts';
import type { Flash } from '../../proxy/portal-page.ts';
import type { PortalContext } from './context.ts';
import { cookieOf, FLASH_COOKIE, setCookie } from './cookies.ts';
import type { PortalRequest } from './request.ts';

/** Milliseconds from the form to its page. */
const LIFETIME = 60_000;
/** Characters of the text: a cookie has at most 4,096 bytes (RFC 6265 §6.1). */
const MAX_TEXT = 800;

/** Digests that are stored: they live for a minute. */
const MAX_SHOWN = 10_000;

/** The flashes whose pages were shown, by their digests. */
export function createShownFlashes(clock: Clock): ExpiringCache<true> {
  return createExpiringCache({ maxEntries: MAX_SHOWN, clock });
}

/** Another version of Stonegate may have sealed it. */
const flashSchema = z.strictObject({
  text: z.string(),
  secret: z.string().exactOptional(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
});

export function flashCookie(
  { text, ...flash }: Flash,
  { path, sessionID }: PortalRequest,
  { sealer, clock }: PortalContext,
): HeaderField {
  const sealed = { ...flash, text: text.slice(0, MAX_TEXT), expiresAt: clock.now() + LIFETIME };
  return setCookie(FLASH_COOKIE, sealer.seal(JSON.stringify(sealed), sealedFor(path, sessionID)));
}

/** @returns undefined if there is none for this session and this page */
export function flashOf(
  { exchange, path, sessionID }: PortalRequest,
  { sealer, clock }: PortalContext,
): Flash | undefined {
  const sealed = cookieOf(exchange.headers, FLASH_COOKIE);
  const text = sealed && sealer.open(sealed, sealedFor(path, sessionID));
  const flash = text === undefined ? undefined : parseJSON(text, flashSchema);
  return flash !== undefined && clock.now() < flash.expiresAt ? flash : undefined;
}

/**
 * The form has paid for the page that shows its outcome, so that no rate keeps a secret from its user; but
 * for one page only, though a browser can send the cookie again.
 *
 * @returns whether the page of the request's flash is shown for the first time here
 */
export function isFirstShown({ exchange }: PortalRequest, { shownFlashes, clock }: PortalContext): boolean {
  // Many texts are the same bytes in base64url.
  const sealed = Buffer.from(cookieOf(exchange.headers, FLASH_COOKIE) ?? '', 'base64url');
  const digest = hash('sha256', sealed);
  if (shownFlashes.get(digest)) return false;
  shownFlashes.set(digest, true, clock.now() + LIFETIME);
  return true;
}

function sealedFor(path: string, sessionID: string | undefined): string {
  return `flash ${path} ${sessionID}`;
}
