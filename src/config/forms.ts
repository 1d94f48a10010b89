/**
 * Mappings of which several forms exist, by the keys they have. Where one has the keys of none, the keys it has are told in
 * the same notation: beside `{ claim, map }`, a lone `{ claim }` shows what is missing.
 */

/**
 * @param forms such as `{ value } or { claim, map }`
 * @param given what was found; all its keys are known, so that none can be a secret in the wrong place
 * @returns an issue for a schema's context, whose `params.found` goes behind the word "found"
 */
export function formIssue(forms: string, given: object) {
  const keys = Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  const found = keys.length === 0 ? 'an empty mapping' : `{ ${keys.join(', ')} }`;
  return { code: 'custom' as const, message: forms, params: { found } };
}
