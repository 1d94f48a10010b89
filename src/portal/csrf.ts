/**
 * Forms only count from our own pages, in the browser they were sent to. Each form carries a token that is bound to
 * the session (before there is one, to the visit), to what the form does, and to an end of its own; and the browser
 * must say that the form came from here.
 * OWASP CSRF Prevention Cheat Sheet (HMAC-based tokens); Fetch Metadata; RFC 6454 §7.
 */
import type { Clock } from '../lib/clock.ts';
import { type HeaderList, headerValues } from '../lib/header-list.ts';
import type { Sealer } from './ports.ts';

/** Milliseconds; much shorter than a session may last. */
const LIFETIME = 3_600_000;

export interface FormTokens {
  /**
   * @param binding the session's or the visit's id
   * @param action the form's target
   */
  issue(binding: string, action: string): string;
  verify(token: string | null, binding: string | undefined, action: string): boolean;
}

export function createFormTokens({
  sealer,
  clock,
}: {
  readonly sealer: Sealer;
  readonly clock: Clock;
}): FormTokens {
  const partsOf = (binding: string, action: string, end: string) => ['form', binding, action, end];
  return {
    issue(binding, action) {
      const end = String(clock.now() + LIFETIME);
      return `${end}.${sealer.mac(partsOf(binding, action, end))}`;
    },
    verify(token, binding, action) {
      const [, end, mac] = /^(\d{1,16})\.([\w-]{1,128})$/.exec(token ?? '') ?? [];
      if (end === undefined || mac === undefined || binding === undefined) return false;
      return sealer.verify(mac, partsOf(binding, action, end)) && clock.now() < Number(end);
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
