/**
 * Header fields of HTTP/2 requests and responses. Whitespace around a request's values is removed, as in
 * HTTP/1.1. By default nghttp2 drops such a field silently: without `Impersonate-User: reader `, `kubectl
 * --as 'reader ' delete` would run with the caller's own rights. Refusing the request instead (RFC 9113
 * §8.2.1) would break Go clients.
 * RFC 9110 §5.5.
 */
import type { OutgoingHttpHeaders } from 'node:http2';
import { fromRawHeaders, type HeaderField, type HeaderList, isBlank, trimmed } from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';

/** Session options that deliver fields with padded values. */
export const ACCEPT_PADDED_VALUES = { strictFieldWhitespaceValidation: false } as const;

/** @param raw of the session's `stream` event, including pseudo-header fields */
export function requestFields(raw: readonly string[]): HeaderField[] {
  const fields = fromRawHeaders(raw);
  return fields.some(isPadded) ? fields.map(([name, value]) => [name, trimmed(value)]) : fields;
}

const lowerCase = memoize((name: string) => name.toLowerCase());

/** Names in lower case, repeated fields as lists (RFC 9113 §8.2). */
export function responseFields(status: number, headers: HeaderList): OutgoingHttpHeaders {
  // Without a prototype, because a field may have any name.
  const fields: OutgoingHttpHeaders = Object.create(null);
  fields[':status'] = status;
  for (const [name, value] of headers) {
    const key = lowerCase(name);
    const previous = fields[key];
    if (previous === undefined) fields[key] = value;
    else if (Array.isArray(previous)) previous.push(value);
    else fields[key] = [String(previous), value];
  }
  return fields;
}

/** Called for every field of every request. */
function isPadded([, value]: HeaderField): boolean {
  return isBlank(value, 0) || isBlank(value, value.length - 1);
}
