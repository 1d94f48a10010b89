/**
 * Finds values in JSON text without parsing it, so that what is passed on keeps its bytes: a parser would
 * change numbers that do not fit a double. Of what is skipped, only brackets and strings are checked.
 * RFC 8259.
 */

/** The place of a value in the text: from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member {
  readonly name: string;
  readonly value: Span;
}

/** The text is not JSON, or not of the expected form. */
export class MalformedJSON extends Error {
  override readonly name = 'MalformedJSON';
}

/** How many objects and arrays Go's decoder accepts within each other. */
export const MAX_DEPTH = 10_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const SCALAR = /^(?:true|false|null|-?[0-9][0-9.eE+-]*)$/;

/**
 * The members of the object that begins at `at`, in their order.
 *
 * @throws MalformedJSON
 */
export function* membersOf(text: Buffer, at: number): Generator<Member> {
  if (text[at] !== OPEN_OBJECT) throw new MalformedJSON('an object is expected');
  let next = skipBlanks(text, at + 1);
  if (text[next] === CLOSE_OBJECT) return;
  for (;;) {
    const nameEnd = endOfString(text, next);
    const name = parseString(text, { start: next, end: nameEnd });
    const colon = skipBlanks(text, nameEnd);
    if (text[colon] !== COLON) throw new MalformedJSON('a colon is expected');
    const start = skipBlanks(text, colon + 1);
    const end = endOfValue(text, start);
    yield { name, value: { start, end } };
    const separator = skipBlanks(text, end);
    if (text[separator] === CLOSE_OBJECT) return;
    if (text[separator] !== COMMA) throw new MalformedJSON('a comma is expected');
    next = skipBlanks(text, separator + 1);
  }
}

/**
 * The elements of the array that begins at `at`.
 *
 * @throws MalformedJSON
 */
export function* elementsOf(text: Buffer, at: number): Generator<Span> {
  if (text[at] !== OPEN_ARRAY) throw new MalformedJSON('an array is expected');
  let start = skipBlanks(text, at + 1);
  if (text[start] === CLOSE_ARRAY) return;
  for (;;) {
    const end = endOfValue(text, start);
    yield { start, end };
    const separator = skipBlanks(text, end);
    if (text[separator] === CLOSE_ARRAY) return;
    if (text[separator] !== COMMA) throw new MalformedJSON('a comma is expected');
    start = skipBlanks(text, separator + 1);
  }
}

/**
 * The value at a path of member names. Members after it are not read.
 *
 * @returns undefined if there is none
 * @throws MalformedJSON
 */
export function valueAt(text: Buffer, path: readonly string[]): Span | undefined {
  let at = skipBlanks(text, 0);
  let found: Span | undefined;
  for (const name of path) {
    if (text[at] !== OPEN_OBJECT) return undefined;
    found = memberNamed(text, at, name);
    if (found === undefined) return undefined;
    at = found.start;
  }
  return found;
}

function memberNamed(text: Buffer, at: number, name: string): Span | undefined {
  for (const member of membersOf(text, at)) if (member.name === name) return member.value;
  return undefined;
}

/** The string at a path; undefined if there is none, or another value. @throws MalformedJSON */
export function stringAt(text: Buffer, path: readonly string[]): string | undefined {
  const span = valueAt(text, path);
  return span === undefined || text[span.start] !== QUOTE ? undefined : parseString(text, span);
}

/** @throws MalformedJSON */
function endOfValue(text: Buffer, start: number): number {
  const first = text[start];
  if (first === QUOTE) return endOfString(text, start);
  return first === OPEN_OBJECT || first === OPEN_ARRAY
    ? endOfBrackets(text, start)
    : endOfScalar(text, start);
}

function endOfBrackets(text: Buffer, start: number): number {
  const closers: number[] = [];
  let at = start;
  while (at < text.length) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    at += 1;
    if (byte === OPEN_OBJECT) closers.push(CLOSE_OBJECT);
    else if (byte === OPEN_ARRAY) closers.push(CLOSE_ARRAY);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (closers.pop() !== byte) throw new MalformedJSON('a bracket does not match');
      if (closers.length === 0) return at;
    }
    if (closers.length > MAX_DEPTH) throw new MalformedJSON('it is nested too deeply');
  }
  throw new MalformedJSON('it ends within a value');
}

function endOfScalar(text: Buffer, start: number): number {
  let end = start;
  while (end < text.length && !isDelimiter(text[end])) end += 1;
  if (!SCALAR.test(text.toString('latin1', start, end))) throw new MalformedJSON('a value is expected');
  return end;
}

function isDelimiter(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || isBlank(byte);
}

function endOfString(text: Buffer, start: number): number {
  if (text[start] !== QUOTE) throw new MalformedJSON('a string is expected');
  for (let at = start + 1; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) return at + 1;
  }
  throw new MalformedJSON('it ends within a string');
}

/** The value as it is written. */
export function writtenIn(text: Buffer, { start, end }: Span): string {
  return text.toString('utf8', start, end);
}

function parseString(text: Buffer, span: Span): string {
  try {
    const value: unknown = JSON.parse(writtenIn(text, span));
    return String(value);
  } catch (cause) {
    throw new MalformedJSON('a string is malformed', { cause });
  }
}

export function skipBlanks(text: Buffer, from: number): number {
  let at = from;
  while (isBlank(text[at])) at += 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
