/**
 * What HTTP lets stand where: the same is asked of what leaves and of what arrives.
 * RFC 9110 §5.5, §5.6.2, §8.6.
 */

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Bytes that no field's value holds, among them a bare CR or LF, which is a line's end to some readers. */
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** Far beyond any content, far below what a number counts exactly. */
const LENGTH = /^\d{1,15}$/;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** @param text a character for each byte */
export function isFieldValue(text: string): boolean {
  return !NO_VALUE.test(text);
}

export function isContentLength(text: string): boolean {
  return LENGTH.test(text);
}
