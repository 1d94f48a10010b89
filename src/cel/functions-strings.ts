/**
 * The string functions of cel-go, in the version that Kubernetes has. They count code points, map the case of
 * ASCII alone, and trim what Unicode calls White_Space.
 * https://pkg.go.dev/github.com/google/cel-go/ext#Strings
 */
import { ESCAPES } from '../lib/go-quoted.ts';
import type { Declarations, Functions } from './declarations.ts';
import { type Budget, EvaluationFault } from './errors.ts';
import { formatted } from './format.ts';
import { List, type Value } from './values.ts';

export function declareStrings(declarations: Declarations): void {
  declarations.add(STRINGS);
}

/** Reads text: it costs what it is long. */
function reading(run: (text: string, rest: readonly Value[]) => Value, factor = 1) {
  return ([value, ...rest]: readonly Value[], budget: Budget): Value => {
    const text = String(value);
    budget.spendText(text.length * factor);
    return run(text, rest);
  };
}

const STRINGS: Functions = {
  'string.charAt(int): string': reading((text, [index]) => charAt(text, Number(index))),
  'string.indexOf(string): int': reading((text, [part]) => indexOf(text, String(part), 0)),
  'string.indexOf(string, int): int': reading((text, [part, from]) =>
    indexOf(text, String(part), Number(from)),
  ),
  'string.lastIndexOf(string): int': reading((text, [part]) => lastIndexOf(text, String(part))),
  'string.lastIndexOf(string, int): int': reading((text, [part, from]) =>
    lastIndexOfBefore([...text], String(part), Number(from)),
  ),
  'string.lowerAscii(): string': reading((text) =>
    text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  ),
  'string.upperAscii(): string': reading((text) =>
    text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
  ),
  'string.replace(string, string): string': (args, budget) => replaced(args, budget),
  'string.replace(string, string, int): string': (args, budget) => replaced(args, budget),
  'string.split(string): list<string>': reading((text, [separator]) => split(text, String(separator), -1), 2),
  'string.split(string, int): list<string>': reading(
    (text, [separator, limit]) => split(text, String(separator), Number(limit)),
    2,
  ),
  'string.substring(int): string': reading((text, [start]) => substring([...text], Number(start))),
  'string.substring(int, int): string': reading((text, [start, end]) =>
    substring([...text], Number(start), Number(end)),
  ),
  'string.trim(): string': reading(trimmed),
  'string.format(list<dyn>): string': ([format, args], budget) =>
    formatted(String(format), args instanceof List ? args : new List([]), budget),
  'strings.quote(string): string': reading(quoted),
  'list<string>.join(): string': ([list], budget) => joined(list, '', budget),
  'list<string>.join(string): string': ([list, separator], budget) => joined(list, String(separator), budget),
};

function charAt(text: string, index: number): string {
  const characters = [...text];
  if (index < 0 || index > characters.length) throw outOfRange();
  return characters[index] ?? '';
}

function outOfRange(): EvaluationFault {
  return new EvaluationFault('index out of range');
}

/** From the first character that is compared. */
function indexOf(text: string, part: string, from: number): bigint {
  if (part === '') return BigInt(from);
  if (from < 0) throw outOfRange();
  const characters = [...text];
  if (from >= characters.length) return -1n;
  const before = characters.slice(0, from).join('').length;
  const index = text.indexOf(part, before);
  return index < 0 ? -1n : BigInt(from + [...text.slice(before, index)].length);
}

function lastIndexOf(text: string, part: string): bigint {
  const characters = [...text];
  if (part === '') return BigInt(characters.length);
  return characters.length === 0 ? -1n : lastIndexOfBefore(characters, part, characters.length - 1);
}

function lastIndexOfBefore(characters: readonly string[], part: string, from: number): bigint {
  if (part === '') return BigInt(from);
  if (from < 0) throw outOfRange();
  if (from >= characters.length) return -1n;
  const length = [...part].length;
  const start = Math.min(from, characters.length - length);
  if (start < 0) return -1n;
  const until = characters.slice(0, start + length).join('');
  const index = until.lastIndexOf(part);
  return index < 0 ? -1n : BigInt([...until.slice(0, index)].length);
}

function replaced([value, from, to, limit = -1n]: readonly Value[], budget: Budget): string {
  const [text, part, other] = [String(value), String(from), String(to)];
  budget.spendText(text.length * 2);
  // What it could grow to.
  budget.spendText((text.length / Math.max(part.length, 1)) * other.length);
  const count = Number(limit);
  if (part === '') return surrounded([...text], other, count);
  if (count < 0) return text.replaceAll(part, () => other);
  const pieces = text.split(part);
  const head = pieces.slice(0, count + 1);
  return [head.join(other), ...pieces.slice(count + 1)].join(part);
}

/** Go replaces "" before each character, and at the end. */
function surrounded(characters: readonly string[], other: string, limit: number): string {
  const places = characters.length + 1;
  const count = limit < 0 ? places : Math.min(limit, places);
  return [...characters, ''].map((character, index) => (index < count ? other : '') + character).join('');
}

function split(text: string, separator: string, limit: number): List {
  if (limit === 0) return new List([], { ofGoStrings: true });
  const parts = separator === '' ? [...text] : text.split(separator);
  if (limit < 0 || parts.length <= limit) return new List(parts, { ofGoStrings: true });
  const rest = parts.slice(limit - 1).join(separator);
  return new List([...parts.slice(0, limit - 1), rest], { ofGoStrings: true });
}

function substring(characters: readonly string[], start: number, end = characters.length): string {
  if (start > end || start < 0 || end > characters.length) throw outOfRange();
  return characters.slice(start, end).join('');
}

const BLANK = /^\p{White_Space}$/u;

/** Character by character: a pattern for the blanks at the end would try each of those in the middle. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && BLANK.test(text.charAt(start))) start += 1;
  while (end > start && BLANK.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function quoted(text: string): string {
  return `"${[...text].map((character) => ESCAPES.get(character) ?? character).join('')}"`;
}

function joined(list: Value | undefined, separator: string, budget: Budget): string {
  const items = list instanceof List ? list.items : [];
  const texts = items.filter((item) => typeof item === 'string');
  if (texts.length < items.length) throw new EvaluationFault('join() takes a list of strings');
  const length = texts.reduce((sum, text) => sum + text.length + separator.length, 0);
  budget.spendText(length * 2);
  return texts.join(separator);
}
