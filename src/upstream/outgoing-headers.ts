/**
 * What becomes of a field on its way to the API server, where nothing that belongs to the client's connection comes along, and
 * how long the body is. `request-head.ts` writes heads by it; for upgrades, which Node writes, the fields are listed here.
 * RFC 9110 §7.6.1; RFC 9112 §6.
 */
import { StatusError } from '../errors/status-error.ts';
import { type HeaderList, headerTokens, headerValue, headerValues } from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';
import type { Exchange } from '../pipeline/ports.ts';
import { isContentLength, isToken } from './syntax.ts';

/** What belongs to one connection, or is ours to say. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

interface Fate {
  readonly kind: 'credential' | 'left' | 'forwarded' | 'unspeakable';
  /** How its line begins, behind the end of the line before it. */
  readonly start: string;
}

/** What becomes of a field, by its name. */
export const fateOf = memoize((name: string): Fate => {
  const lower = name.toLowerCase();
  const start = `\r\n${name}: `;
  if (lower === 'authorization') return { kind: 'credential', start };
  if (NOT_FORWARDED.has(lower)) return { kind: 'left', start };
  return { kind: isToken(name) ? 'forwarded' : 'unspeakable', start };
});

/** Methods whose content means nothing (RFC 9110 §9.3.1, 9.3.2, 9.3.7, 9.3.8). */
const WITHOUT_CONTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * @param headers complete but for the credential
 * @param token the sender's; undefined where our client certificate speaks for us
 * @returns names and values in turn, as Node takes them, which looks at each of them again
 * @throws StatusError InvariantBroken where somebody's Authorization is still there: it must never leave beside,
 *   or instead of, the sender's
 */
export function upgradeFields(headers: HeaderList, token: string | undefined): string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) {
    const { kind } = fateOf(name);
    if (kind === 'credential') throw credentialLeft();
    if (kind !== 'left') flat.push(name, value);
  }
  if (token !== undefined) flat.push('Authorization', `Bearer ${token}`);
  return flat;
}

/** A credential that is not the sender's would leave. */
export function credentialLeft(): StatusError {
  return new StatusError('InvariantBroken', 'Internal error occurred: a credential was left on the request');
}

/** How long the body will be, from the head the client sent: `none`, a number of bytes, or unknown. */
export type Framing = 'none' | 'chunked' | number;

/**
 * @returns `none` also for content of unknown length on an HTTP/2 request whose method gives content no meaning
 */
export function framingOf(exchange: Pick<Exchange, 'method' | 'headers' | 'httpVersion'>): Framing {
  if (headerTokens(exchange.headers, 'transfer-encoding').length > 0) return 'chunked';
  const length = headerValue(exchange.headers, 'content-length');
  if (length === undefined) {
    if (exchange.httpVersion.startsWith('1.')) return 'none';
    return WITHOUT_CONTENT.has(exchange.method) ? 'none' : 'chunked';
  }
  if (!isContentLength(length) || headerValues(exchange.headers, 'content-length').length > 1) {
    throw new StatusError('RequestMalformed', 'Content-Length is no single number');
  }
  return length === '0' ? 'none' : Number(length);
}
