/**
 * What is wrong with a text that is no YAML, in words of our own: the parser's may quote what they are about,
 * which may be a password. https://eemeli.org/yaml/#errors
 */

const MISTAKES: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias has an anchor or a tag of its own',
  BAD_ALIAS: 'an alias is wrong, or a text that begins with * is not quoted',
  BAD_DIRECTIVE: 'a directive is wrong, or a text that begins with % is not quoted',
  BAD_DQ_ESCAPE: 'between double quotes a backslash is before what it cannot escape',
  BAD_INDENT: 'the indentation is wrong',
  BAD_PROP_ORDER: 'an anchor or a tag is in the wrong place',
  BAD_SCALAR_START: 'a text that begins with @ or ` is not quoted',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping begins on the line of another: is a ": " in a text not quoted?',
  BLOCK_IN_FLOW: 'a block is within { } or [ ]',
  DUPLICATE_KEY: 'map keys must be unique',
  MISSING_CHAR: 'a character is missing: a quotation mark, a bracket, a comma, a colon or a space',
  MULTILINE_IMPLICIT_KEY: 'a key is longer than its line: is a colon missing?',
  MULTIPLE_DOCS: 'there is a second document',
  TAB_AS_INDENT: 'a tab is used to indent',
  TAG_RESOLVE_FAILED: 'a tag is not known, or a text that begins with ! is not quoted',
};

/** An error of the parser, as far as it may be repeated. */
interface ParserError {
  readonly code: string;
  readonly message: string;
  /** Its begin and end; lines are counted from 1. */
  readonly linePos?: readonly { readonly line: number; readonly col: number }[];
}

/** `no valid YAML (line 3, column 5): …`, to be put behind a file's name and "is". */
export function noYAML(error: ParserError): string {
  const { linePos } = error;
  const at = linePos?.[0];
  const place = at === undefined ? '' : ` (line ${at.line}, column ${at.col})`;
  return `no valid YAML${place}: ${yamlMistake(error)}`;
}

export function yamlMistake({ code, message }: Pick<ParserError, 'code' | 'message'>): string {
  // The parser sees where the next line begins, and calls that indentation.
  const [, kind] = /^Flow (map|sequence) in block collection/.exec(message) ?? [];
  if (kind !== undefined) return `a ${kind === 'map' ? '{' : '['} is not closed before this line`;
  return MISTAKES[code] ?? 'something is where it cannot be';
}

/** Says that the values of a text cannot be made, though it is YAML. */
export const UNUSABLE_ALIASES = 'its aliases lead nowhere, or to too much';
