/**
 * Which request targets are read at all. The API server decides on the decoded path and Go's reading of the
 * query, Stonegate on the raw ones, so every spelling on which two readers could disagree is refused: then
 * one parse serves authorization and forwarding. RFC 3986 §2.3, §3.3, §6.2.2; RFC 9112 §3.2;
 * https://pkg.go.dev/net/url#ParseQuery
 */
import { StatusError } from '../../errors/status-error.ts';
import { unescaped } from '../../lib/go-url.ts';

export interface RequestTarget {
  readonly path: string;
  /** The query without the `?`; empty if there is none. */
  readonly query: string;
}

const PRINTABLE_ASCII = /^[\x21-\x7e]+$/;
const ESCAPE = /%([0-9A-Fa-f]{2})/g;
const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
/**
 * Characters that no honest client escapes: unreserved characters, both slashes, the percent sign, control
 * characters.
 */
const NEVER_ESCAPED = /[A-Za-z0-9\-._~/\\%\p{Cc}]/u;
const DOT_SEGMENT = /^\.\.?$/;

function malformed(what: string): StatusError {
  return new StatusError('RequestMalformed', `the request path is refused: ${what}`);
}

/**
 * Splits a request target at its first `?`, without a URL parser: that would resolve dot segments.
 *
 * @throws StatusError RequestMalformed for anything but an origin-form target of printable ASCII
 */
export function splitTarget(target: string): RequestTarget {
  if (!target.startsWith('/')) throw malformed('it does not start with "/"');
  if (!PRINTABLE_ASCII.test(target))
    throw malformed('it holds a space, a control character or a byte beyond ASCII');
  if (target.includes('#')) throw malformed('it holds a "#"');
  const mark = target.indexOf('?');
  return mark === -1
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** Segments that begin with no dot, and hold neither escapes nor backslashes; perhaps a slash at the end. */
const PLAIN = /^(?:\/[^/.%\\][^/%\\]*)*\/?$/;

/**
 * Whether each segment of a path is one that `decodeSegment` returns as it is: so are nearly all.
 *
 * @param path of a target that `splitTarget` has split
 */
export function isPlain(path: string): boolean {
  return PLAIN.test(path);
}

/**
 * A segment every reader reads alike, decoded.
 *
 * @throws StatusError RequestMalformed
 */
export function decodeSegment(segment: string): string {
  if (segment === '') throw malformed('it holds an empty segment');
  if (segment.includes('\\')) throw malformed('it holds a backslash');
  if (DOT_SEGMENT.test(segment)) throw malformed('it holds a dot segment');
  if (!segment.includes('%')) return segment;
  assertEscapes(segment);
  for (const [, hex = ''] of segment.matchAll(ESCAPE)) {
    const code = Number.parseInt(hex, 16);
    if (code < 0x80 && NEVER_ESCAPED.test(String.fromCharCode(code)))
      throw malformed(`it escapes a character as %${hex} that has no need of it`);
  }
  return decodeUTF8(segment);
}

/**
 * A piece of what follows a `proxy` subresource: it belongs to the server behind the API server and passes as
 * it is, save dot segments, which could lead out of what was authorized.
 *
 * @throws StatusError RequestMalformed
 */
export function assertProxyTail(segment: string): void {
  assertEscapes(segment);
  const decoded = segment.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  if (decoded.split(/[/\\]/).some((piece) => DOT_SEGMENT.test(piece)))
    throw malformed('it holds a dot segment');
}

function assertEscapes(segment: string): void {
  if (BROKEN_ESCAPE.test(segment)) throw malformed('it holds a broken percent escape');
}

function decodeUTF8(segment: string): string {
  const decoded = unescaped(segment);
  if (decoded === undefined) throw malformed('its escapes are no UTF-8');
  if (/\p{Cc}/u.test(decoded)) throw malformed('it holds an escaped control character');
  return decoded;
}

/** Go has a limit of its own, 10,000; no client comes near. Queries are read before their client is known. */
const MAX_PARAMETERS = 1_000;

/** @throws StatusError RequestMalformed */
export function assertQuery(query: string): void {
  if (query.length > MAX_PARAMETERS && query.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS)
    throw malformedQuery(`it has more than ${MAX_PARAMETERS} parameters`);
  if (query.includes(';')) throw malformedQuery('it holds a ";"');
  // No escape reaches over a separator, so the pairs need not be taken apart.
  if (query.includes('%') && unescaped(query) === undefined)
    throw malformedQuery('it holds a broken percent escape, or bytes that are no UTF-8');
}

export function malformedQuery(what: string): StatusError {
  return new StatusError('RequestMalformed', `the query is refused: ${what}`);
}
