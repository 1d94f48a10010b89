/**
 * A request's fields over HTTP/2, read as HTTP/1.1 reads them: without the whitespace around their values. nghttp2's
 * default is to drop a field with such a value in silence: a wish to impersonate would be gone, and
 * `kubectl --as 'reader ' delete` be carried out with the caller's own rights. Refusing the request instead (RFC 9113
 * §8.2.1) would break clients over HTTP/2 alone: Go trims what it sends over HTTP/1.1 and sends it as it is over HTTP/2.
 * RFC 9110 §5.5.
 */
import { fromRawHeaders, type HeaderField } from '../lib/header-list.ts';

/** For the options of the session: such fields are handed on. */
export const WITH_PADDED_FIELDS = { strictFieldWhitespaceValidation: false } as const;

/** @param raw as the session's `stream` event hands it over, pseudo-headers among it */
export function requestFields(raw: readonly string[]): HeaderField[] {
  const fields = fromRawHeaders(raw);
  return fields.some(isPadded) ? fields.map(([name, value]) => [name, trimmed(value)]) : fields;
}

/** Asked of every field of every request. */
function isPadded([, value]: HeaderField): boolean {
  return isBlank(value, 0) || isBlank(value, value.length - 1);
}

/** Blanks and tabs alone: `trim` would take more, U+00A0 for one. */
function trimmed(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value, start)) start += 1;
  while (end > start && isBlank(value, end - 1)) end -= 1;
  return value.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}
