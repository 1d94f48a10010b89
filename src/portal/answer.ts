/**
 * What the portal answers: pages, and redirects within itself or to an issuer. Every answer carries the same strict
 * headers: nothing but our own style and icon, no script at all, no frame, no cache, no address given away. The
 * referrer stays within the portal rather than being hidden altogether: browsers would send `Origin: null` with forms.
 * Content Security Policy Level 3; RFC 6797 (HSTS); Referrer Policy §8.
 */
import type { HeaderField, HeaderList } from '../lib/header-list.ts';
import type { Exchange } from '../pipeline/ports.ts';
import type { Html } from './html.ts';
import { STYLE_HASH } from './style.ts';

export interface Answer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: string;
}

const POLICY = [
  "default-src 'none'",
  `style-src '${STYLE_HASH}'`,
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const STRICT: HeaderList = [
  ['Content-Security-Policy', POLICY],
  ['Strict-Transport-Security', 'max-age=31536000'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'same-origin'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Cache-Control', 'no-store'],
];

export function page(status: number, content: Html, headers: readonly HeaderField[] = []): Answer {
  return {
    status,
    headers: [['Content-Type', 'text/html; charset=utf-8'], ...headers],
    body: content.text,
  };
}

/** After a form the browser is to ask anew, with GET (RFC 9110 §15.4.4). */
export function seeOther(location: string, headers: readonly HeaderField[] = []): Answer {
  return { status: 303, headers: [['Location', location], ...headers], body: '' };
}

export function send({ method, response }: Exchange, { status, headers, body }: Answer): void {
  if (response.closed || response.headersSent) return;
  const bytes = Buffer.from(body);
  response.writeHead(status, [...headers, ...STRICT, ['Content-Length', String(bytes.length)]]);
  if (method === 'HEAD') response.end();
  else response.end(bytes);
}
