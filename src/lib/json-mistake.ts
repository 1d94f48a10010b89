/**
 * Finds where a text that is no JSON goes wrong: JSON.parse says so only in some of its messages, which quote
 * the text. RFC 8259.
 */

const BLANKS = /[ \t\n\r]*/y;
const TOKEN =
  /[[\]{},:]|(?:"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null/y;

/** What may follow; a list or mapping that has just begun may also end. */
type Expected = 'value' | 'key' | 'colon' | 'comma or end';

/** @returns the offset of what cannot stand where it does; undefined for JSON */
function offsetOfMistake(text: string): number | undefined {
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'value';
  let isBegun = false;
  let at = 0;
  for (;;) {
    BLANKS.lastIndex = at;
    BLANKS.exec(text);
    at = BLANKS.lastIndex;
    const inside = open.at(-1);
    if (inside === undefined && expected === 'comma or end') return at === text.length ? undefined : at;
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) return at;
    const mayEnd = isBegun || expected === 'comma or end';
    isBegun = false;
    if (token === ']' || token === '}') {
      if (!mayEnd || inside !== (token === ']' ? '[' : '{')) return at;
      open.pop();
      expected = 'comma or end';
    } else if (token === ',') {
      if (expected !== 'comma or end') return at;
      expected = inside === '{' ? 'key' : 'value';
    } else if (token === ':') {
      if (expected !== 'colon') return at;
      expected = 'value';
    } else if (expected === 'key') {
      if (!token.startsWith('"')) return at;
      expected = 'colon';
    } else if (expected !== 'value') {
      return at;
    } else if (token === '[' || token === '{') {
      open.push(token);
      expected = token === '{' ? 'key' : 'value';
      isBegun = true;
    } else {
      expected = 'comma or end';
    }
    at += token.length;
  }
}

/** @returns the place of the mistake, from 1; undefined for JSON */
export function jsonMistake(text: string): { readonly line: number; readonly column: number } | undefined {
  const offset = offsetOfMistake(text);
  if (offset === undefined) return undefined;
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
