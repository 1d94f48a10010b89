/**
 * Objects parsed from JSON of other programs, whose content is not trusted; and the members of an object as
 * they are written, with duplicates, which `JSON.parse` hides. RFC 8259 §4.
 */

export type JSONObject = Readonly<Record<string, unknown>>;

export function isJSONObject(value: unknown): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns undefined for what is no JSON; without the parser's message, which would quote the text */
export function readJSON(text: string | Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

/** @returns undefined for what is no JSON object */
export function readJSONObject(text: string | Buffer): JSONObject | undefined {
  const value = readJSON(text);
  return isJSONObject(value) ? value : undefined;
}

/**
 * A list in an object that Go has written: an empty one may be null.
 *
 * @returns undefined for anything else
 */
export function goList(value: unknown): readonly unknown[] | undefined {
  if (value === null) return [];
  return Array.isArray(value) ? value : undefined;
}

/**
 * For keys that a client chooses: an object also has inherited properties such as `constructor`.
 *
 * @returns undefined if the property is not the record's own
 */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

export interface Member {
  readonly name: string;
  /** JSON. */
  readonly value: string;
}

/** Brackets, commas and strings; a string is a member's name if a colon follows. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?|[{}[\],]/g;

/**
 * Of the outermost object, in order.
 *
 * @param text a valid JSON object
 */
export function membersOf(text: string): readonly Member[] {
  const members: Member[] = [];
  let depth = 0;
  let name: string | undefined;
  let from = 0;
  for (const found of text.matchAll(TOKENS)) {
    const [token, string, colon] = found;
    if (depth === 1 && string !== undefined && colon !== undefined) {
      name = parsedName(string);
      from = found.index + token.length;
      continue;
    }
    if (token === '{' || token === '[') depth += 1;
    if (depth === 1 && name !== undefined && (token === ',' || token === '}')) {
      members.push({ name, value: text.slice(from, found.index) });
      name = undefined;
    }
    if (token === '}' || token === ']') depth -= 1;
  }
  return members;
}

/**
 * The elements of an array as they are written: numbers above 2^53 survive, and the order of names.
 *
 * @param text a valid JSON array
 * @returns JSON of each element
 */
export function elementsOf(text: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') {
      depth += 1;
      if (depth === 1) from = index + 1;
    }
    if (depth === 1 && (token === ',' || token === ']')) {
      const element = text.slice(from, index).trim();
      if (element !== '') elements.push(element);
      from = index + 1;
    }
    if (token === '}' || token === ']') depth -= 1;
  }
  return elements;
}

/** How many objects and arrays Go's decoder accepts within each other. */
export const MAX_DEPTH = 10_000;

function parsedName(string: string): string {
  return String(JSON.parse(string));
}
