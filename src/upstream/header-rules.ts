/**
 * Which header fields are forwarded, in both directions, and how the length of a request body is declared.
 * RFC 9110 §7.6.1; RFC 9112 §6.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Exchange } from '../lib/exchange.ts';
import {
  type HeaderField,
  type HeaderList,
  headerTokens,
  headerValue,
  headerValues,
  isContentLength,
  isFieldValue,
  isNamed,
} from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';
import { createHeadSerializer, type RequestFraming } from './http1/serializer.ts';

/** Fields of one connection (RFC 9110 §7.6.1, RFC 7540 §3.2.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Request fields that Stonegate's own client writes or answers. */
const WRITTEN_BY_STONEGATE: ReadonlySet<string> = new Set(['content-length', 'expect', 'host']);

/**
 * A credential that is still on the request must never be sent beside, or instead of, the sender's: the
 * request fails.
 *
 * @throws StatusError InvariantBroken for an Authorization field
 */
function isForwarded(name: string): boolean {
  const lower = name.toLowerCase();
  if (lower === 'authorization')
    throw new StatusError('InvariantBroken', 'Internal error occurred: a credential was left on the request');
  return !HOP_BY_HOP.has(lower) && !WRITTEN_BY_STONEGATE.has(lower);
}

/** Writes the head of a request. The headers are complete except for the sender's token. */
export const requestHead = createHeadSerializer(isForwarded);

/**
 * The fields of an upgrade request, which Node's client writes and validates.
 *
 * @param headers complete except for the credential
 * @param token the sender's; undefined if Stonegate authenticates by its client certificate
 * @returns names and values in turn
 * @throws StatusError InvariantBroken if an Authorization field is still there
 */
export function upgradeFields(headers: HeaderList, token: string | undefined): string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) if (isForwarded(name)) flat.push(name, value);
  if (token !== undefined) flat.push('Authorization', `Bearer ${token}`);
  return flat;
}

/** Methods whose request bodies have no meaning (RFC 9110 §9.3.1, 9.3.2, 9.3.7, 9.3.8). */
const WITHOUT_REQUEST_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * How the client declared the length of its body.
 *
 * @returns `none` also for an undeclared length on an HTTP/2 request whose method gives a body no meaning
 * @throws StatusError RequestMalformed
 */
export function requestFraming(
  exchange: Pick<Exchange, 'method' | 'headers' | 'httpVersion'>,
): RequestFraming {
  if (headerTokens(exchange.headers, 'transfer-encoding').length > 0) return 'chunked';
  const length = headerValue(exchange.headers, 'content-length');
  if (length === undefined) {
    if (exchange.httpVersion.startsWith('1.')) return 'none';
    return WITHOUT_REQUEST_BODY.has(exchange.method) ? 'none' : 'chunked';
  }
  if (!isContentLength(length) || headerValues(exchange.headers, 'content-length').length > 1)
    throw new StatusError('RequestMalformed', 'Content-Length is no single number');
  return length === '0' ? 'none' : Number(length);
}

/** Statuses without a body (RFC 9110 §15.3.5, 15.3.6, 15.4.5): a Content-Length would announce one. */
const WITHOUT_RESPONSE_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Whether a response with this status has no body, whatever its fields say. */
export function isWithoutBody(status: number): boolean {
  return WITHOUT_RESPONSE_BODY.has(status);
}

/**
 * All fields that Node's HTTP/2 accepts once per message, those of requests included, since a workload may
 * send any: a repeated one throws and leaves the stream hanging.
 */
const SINGLE_VALUE: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-allow-origin',
  'access-control-max-age',
  'access-control-request-method',
  'age',
  'authorization',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'date',
  'dnt',
  'etag',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'range',
  'referer',
  'retry-after',
  'tk',
  'upgrade-insecure-requests',
  'user-agent',
  'x-content-type-options',
]);

const responseHeaderRule = memoize((field: string) => {
  const name = field.toLowerCase();
  return { name, hopByHop: HOP_BY_HOP.has(name), single: SINGLE_VALUE.has(name) };
});

/**
 * The fields that the client receives: without those of the connection, single-value fields once, the first
 * wins.
 *
 * @param locationPrefix what paths begin with for this client; in `Location` the API server leaves it out
 */
export function responseHeaders(
  status: number,
  received: HeaderList,
  locationPrefix?: string,
): HeaderField[] {
  const named = connectionOptions(received);
  const seen: string[] = [];
  const forwarded: HeaderField[] = [];
  for (const field of received) {
    const { name, hopByHop, single } = responseHeaderRule(field[0]);
    if (name === 'content-length' && isWithoutBody(status)) continue;
    // The listener would throw on an invalid value.
    if (hopByHop || named?.has(name) || !isFieldValue(field[1])) continue;
    if (single) {
      if (seen.includes(name)) continue;
      seen.push(name);
    }
    forwarded.push(name === 'location' ? withPrefix(field, locationPrefix) : field);
  }
  return forwarded;
}

/** A path; `//` begins another authority (RFC 3986 §4.2). */
const ABSOLUTE_PATH = /^\/(?![/\\])/;

function withPrefix(field: HeaderField, prefix = ''): HeaderField {
  const [name, value] = field;
  return prefix !== '' && ABSOLUTE_PATH.test(value) ? [name, `${prefix}${value}`] : field;
}

/** The fields that `Connection` names; undefined if there are none, as usual. */
function connectionOptions(received: HeaderList): ReadonlySet<string> | undefined {
  let options: Set<string> | undefined;
  for (const [name, value] of received) {
    if (!isNamed(name, 'connection')) continue;
    options ??= new Set();
    for (const option of value.split(',')) options.add(option.trim().toLowerCase());
  }
  return options;
}
