/**
 * Text that reads the same everywhere. HTTP takes blanks off the ends of a header's value, control characters and line
 * separators end lines for some readers, and half a surrogate pair becomes a replacement character: each way two texts
 * would become one.
 */

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Whether there is any text, and nothing in it that is lost on the way. */
export function isPrintable(text: string): boolean {
  return text !== '' && text === text.trim() && !UNPRINTABLE.test(text);
}
