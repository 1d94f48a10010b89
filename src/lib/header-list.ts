/**
 * HTTP header fields as received: ordered name/value pairs with the spelling of the names and repeated
 * fields. An object would merge repeated fields and lose the order, which a proxy must preserve. Look-ups
 * compare the lengths of names first, so that most names need no copy in lower case. RFC 9110 §5.1–5.3.
 */

export type HeaderField = readonly [name: string, value: string];
export type HeaderList = readonly HeaderField[];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Also rejects a bare CR or LF, which some parsers read as the end of the line. */
const INVALID_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** Matches up to 15 digits: more than any body needs, and few enough for an exact number. */
const CONTENT_LENGTH = /^\d{1,15}$/;

/** RFC 9110 §5.6.2. */
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

/** Pairs up Node's flat `rawHeaders`; HTTP/2 pseudo-headers (`:path` …) are left out. */
export function fromRawHeaders(raw: readonly string[]): HeaderField[] {
  const list: HeaderField[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (!name.startsWith(':')) list.push([name, raw[i + 1] ?? '']);
  }
  return list;
}

/** Whether a field has that name, which is given in lower case. */
export function isNamed(field: string, name: string): boolean {
  return field.length === name.length && field.toLowerCase() === name;
}

/** Every value of a field, in order. `name` is given in lower case. */
export function headerValues(list: HeaderList, name: string): string[] {
  const values: string[] = [];
  for (const [key, value] of list) if (isNamed(key, name)) values.push(value);
  return values;
}

/** How often the field stands there. `name` is given in lower case. */
export function countHeader(list: HeaderList, name: string): number {
  let count = 0;
  for (const [key] of list) if (isNamed(key, name)) count += 1;
  return count;
}

/** The field's first value, or undefined if it is absent. `name` is given in lower case. */
export function headerValue(list: HeaderList, name: string): string | undefined {
  for (const [key, value] of list) if (isNamed(key, name)) return value;
  return undefined;
}

/** The members of a comma-separated field (`Connection`, `Upgrade`, …), lower-cased, blanks trimmed. */
export function headerTokens(list: HeaderList, name: string): string[] {
  const values = headerValues(list, name);
  if (values.length === 0) return values;
  return values
    .flatMap((value) => value.split(','))
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== '');
}

/**
 * @param start of the part of `text` that is compared
 * @param end of that part
 * @returns the part without the spaces and tabs around it: `trim` would also remove U+00A0 and others
 */
export function trimmed(text: string, start = 0, end: number = text.length): string {
  let first = start;
  let last = end;
  while (first < last && isBlank(text, first)) first += 1;
  while (last > first && isBlank(text, last - 1)) last -= 1;
  return text.slice(first, last);
}

export function isBlank(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code === 0x20 || code === 0x09;
}
