/**
 * The portal's responses: pages, and redirects within the portal or to an issuer. All have the same strict
 * headers: no frame, no cache, and no script, style or image except our own.
 * Content Security Policy Level 3; RFC 6797 (HSTS); Referrer Policy §8.
 */

import type { HeaderField, HeaderList } from '../../lib/header-list.ts';
import type { Html } from '../../lib/html.ts';
import type { SessionResponse } from '../../proxy/session-request.ts';
import { COPY_SCRIPT_HASH } from './copy-script.ts';
import { STYLE_HASH } from './style.ts';

export interface PortalResponse extends Pick<SessionResponse, 'status' | 'headers' | 'refusal'> {
  readonly body: string | Buffer;
}

const POLICY = [
  "default-src 'none'",
  `script-src '${COPY_SCRIPT_HASH}'`,
  `style-src '${STYLE_HASH}'`,
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const SECURITY_HEADERS: HeaderList = [
  ['Content-Security-Policy', POLICY],
  ['Strict-Transport-Security', 'max-age=31536000'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  // With `no-referrer` browsers would send `Origin: null` with forms, which `csrf.ts` refuses.
  ['Referrer-Policy', 'same-origin'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Cache-Control', 'no-store'],
];

export function page(status: number, content: Html, headers: readonly HeaderField[] = []): PortalResponse {
  return {
    status,
    headers: [['Content-Type', 'text/html; charset=utf-8'], ...headers],
    body: content.text,
  };
}

/** A kubeconfig that the browser saves; it stays on its page. */
export function download(
  fileName: string,
  kubeconfig: string,
  headers: readonly HeaderField[] = [],
): PortalResponse {
  const disposition = `attachment; filename="${fileName}"`;
  return {
    status: 200,
    headers: [['Content-Type', 'application/yaml'], ['Content-Disposition', disposition], ...headers],
    body: kubeconfig,
  };
}

/** The response to a form: the browser continues with GET (RFC 9110 §15.4.4). */
export function seeOther(location: string, headers: readonly HeaderField[] = []): PortalResponse {
  return { status: 303, headers: [['Location', location], ...headers], body: '' };
}

/** Every response passes it. */
export function secured({ headers, body, ...rest }: PortalResponse): SessionResponse {
  return {
    ...rest,
    headers: [...headers, ...SECURITY_HEADERS],
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
}
