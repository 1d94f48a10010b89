/**
 * The parts of HTTP's grammar that requests and responses share. RFC 9110 §5.5, §5.6.2, §8.6.
 */

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Also rejects a bare CR or LF, which some parsers read as the end of the line. */
const INVALID_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** At most 15 digits: far more than any body has, and a number counts them exactly. */
const CONTENT_LENGTH = /^\d{1,15}$/;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** @param text one character for each byte (latin1) */
export function isFieldValue(text: string): boolean {
  return !INVALID_IN_VALUE.test(text);
}

export function isContentLength(text: string): boolean {
  return CONTENT_LENGTH.test(text);
}
