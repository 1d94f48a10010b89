/**
 * A text as Go's `%q` writes it: in messages of the API server.
 * https://pkg.go.dev/strconv#Quote
 */

/** Nearly every text: quoted as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Go's IsPrint; every other character is escaped. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
export const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

export function goQuoted(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  let quoted = '"';
  for (const character of text) quoted += ESCAPES.get(character) ?? escaped(character);
  return `${quoted}"`;
}

function escaped(character: string): string {
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${hexadecimal(code, 2)}`;
  // Half of a surrogate pair is no character.
  if (code >= 0xd800 && code < 0xe000) return '\ufffd';
  return code < 0x10000 ? `\\u${hexadecimal(code, 4)}` : `\\U${hexadecimal(code, 8)}`;
}

function hexadecimal(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
