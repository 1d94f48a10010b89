/**
 * JSON as Go encodes it, so that it can stand in HTML. In JSON these characters can only be within strings.
 * https://pkg.go.dev/encoding/json#HTMLEscape
 */

const MUST_BE_ESCAPED = /[<>&\u2028\u2029]/;

/**
 * Without a callback for each character: a user's text may have nothing else.
 *
 * @param json valid JSON
 */
export function goEscaped(json: string): string {
  if (!MUST_BE_ESCAPED.test(json)) return json;
  return json
    .replace(/</g, '\\u003c')
    .replace(/>/g, '\\u003e')
    .replace(/&/g, '\\u0026')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}
