/**
 * Protection against cross-site request forgery. Each form has an HMAC token that is bound to the session (to
 * the visit before sign-in), the form's action and an expiry; and the browser must state that the form came
 * from the portal.
 * OWASP CSRF Prevention Cheat Sheet (HMAC-based tokens); Fetch Metadata; RFC 6454 §7.
 */
import type { Clock } from '../../lib/clock.ts';
import { type HeaderList, headerValues } from '../../lib/header-list.ts';
import type { Sealer } from './portal-storage.ts';

/** Milliseconds. */
const LIFETIME = 3_600_000;

export type FormTokens = ReturnType<typeof createFormTokens>;

export function createFormTokens({ sealer, clock }: { readonly sealer: Sealer; readonly clock: Clock }) {
  const macInput = (binding: string, action: string, expiry: string) => ['form', binding, action, expiry];
  return {
    /**
     * @param binding the ID of the session or the visit
     * @param action the form's target
     */
    issue(binding: string, action: string): string {
      const expiry = String(clock.now() + LIFETIME);
      return `${expiry}.${sealer.mac(macInput(binding, action, expiry))}`;
    },
    verify(token: string | null, binding: string | undefined, action: string): boolean {
      const [, expiry, mac] = /^(\d{1,16})\.([\w-]{1,128})$/.exec(token ?? '') ?? [];
      if (expiry === undefined || mac === undefined || binding === undefined) return false;
      return sealer.verify(mac, macInput(binding, action, expiry)) && clock.now() < Number(expiry);
    },
  };
}

/** @param origin the portal's own, such as `https://login.example.com` */
export function isFromOwnPage(headers: HeaderList, origin: string): boolean {
  const origins = headerValues(headers, 'origin');
  const sites = headerValues(headers, 'sec-fetch-site');
  if (origins.length > 1 || sites.length > 1) return false;
  if (sites[0] !== undefined && sites[0] !== 'same-origin') return false;
  return origins[0] === undefined ? sites[0] === 'same-origin' : origins[0] === origin;
}
