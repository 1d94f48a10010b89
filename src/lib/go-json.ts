/**
 * JSON as Go encodes it: it can stand in HTML, and what is absent or null is a zero value.
 * https://pkg.go.dev/encoding/json
 */
import { z } from 'zod';

export const goTextSchema = z
  .string()
  .nullish()
  .transform((text) => text ?? '');
export const goTextsSchema = z
  .array(z.string())
  .nullish()
  .transform((texts) => texts ?? []);
/** A map of lists, as the extra of a user is. */
export const goTextListsSchema = z
  .record(z.string(), goTextsSchema)
  .nullish()
  .transform((lists) => lists ?? {});

const MUST_BE_ESCAPED = /[<>&\u2028\u2029]/;

/**
 * Escapes the characters that Go escapes for HTML, which in JSON can only be within strings. There is no
 * callback for each character: a user's text may have nothing else.
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
