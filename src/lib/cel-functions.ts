/**
 * CEL's string functions where the package's own are not those of cel-go: its case mapping and its idea of blanks are
 * Unicode's, so that two names could become one, and its patterns are JavaScript's, which a hostile claim can make
 * run for years. A call of theirs is made a call of ours, by another name, before anything is checked.
 * https://pkg.go.dev/github.com/google/cel-go/ext#Strings; https://github.com/google/re2/wiki/Syntax
 */
import { RE2JS, RE2JSException } from '@bufbuild/re2';
import type { ASTNode, Environment } from '@marcbachmann/cel-js';

type Call = Extract<ASTNode, { op: 'call' | 'rcall' }>;

const REPLACED = new Set(['lowerAscii', 'upperAscii', 'trim', 'matches', 'split', 'join']);
/** Beyond CEL, and with it beyond what is bounded: `json` makes lists of any length out of a text. */
const FOREIGN = new Set(['json', 'hex', 'base64', 'at']);
/** What Unicode calls White_Space, as Go does; JavaScript counts U+FEFF in and U+0085 out. */
const BLANK = /^\p{White_Space}$/u;
/** Some twenty times what the largest tokens hold. */
const MAX_CHARACTERS = 1_000_000;

/** Thrown for what an expression does wrong; its text never repeats a value. */
export class FunctionError extends Error {}

/**
 * What one evaluation may do. Within comprehensions a function of texts runs as often as a token has members, over as
 * much text as it has.
 */
export class Allowance {
  /** Of the list a text is split into: how often a comprehension runs depends on it. */
  maxParts = 0;
  #characters = 0;

  renew(maxParts: number): void {
    this.maxParts = maxParts;
    this.#characters = MAX_CHARACTERS;
  }

  /** @throws FunctionError where it is used up */
  spend(characters: number): void {
    this.#characters -= characters;
    if (this.#characters < 0) throw new FunctionError('handles too much text');
  }
}

/**
 * Renames, in place, a call of what is replaced.
 *
 * @throws FunctionError for a call of what CEL does not have
 */
export function callOurs(call: Call): void {
  if (FOREIGN.has(call.args[0])) throw new FunctionError(`${call.args[0]}() is no function of CEL`);
  if (REPLACED.has(call.args[0])) call.args[0] = `${call.args[0]}_`;
}

/** A message in the words that were written. */
export function namedAsWritten(message: string): string {
  return message.replaceAll('_(', '(');
}

/**
 * The pattern a call of `matches` names, compiled. Only one that is written out: one from a claim would be a
 * stranger's program.
 *
 * @returns undefined for a call of anything else
 * @throws FunctionError where it is not written out, or is no pattern
 */
export function patternOf(call: Call): { readonly text: string; readonly pattern: RE2JS } | undefined {
  if (call.args[0] !== 'matches') return undefined;
  const given = (call.op === 'rcall' ? call.args[2] : call.args[1]).at(-1);
  if (given?.op !== 'value' || typeof given.args !== 'string') {
    throw new FunctionError('matches() takes a pattern that is written out, as a string');
  }
  try {
    return { text: given.args, pattern: RE2JS.compile(given.args) };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new FunctionError(`matches() takes a pattern as RE2 has them: ${error.message}`);
  }
}

/** @param patterns compiled, by their text */
export function registerFunctions(
  environment: Environment,
  patterns: ReadonlyMap<string, RE2JS>,
  allowance: Allowance,
): Environment {
  const read = (text: string): string => {
    allowance.spend(text.length);
    return text;
  };
  const matches = (text: string, pattern: string): boolean => {
    const compiled = patterns.get(pattern);
    if (compiled === undefined) throw new FunctionError('matches() was given another pattern');
    return compiled.test(read(text));
  };
  const split = (text: string, separator: string, limit = -1n) =>
    partsOf(read(text), separator, Number(limit), allowance.maxParts);
  const join = (list: readonly unknown[], separator = '') => joined(list, separator, allowance);
  return environment
    .registerFunction('string.lowerAscii_(): string', (text: string) =>
      read(text).replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
    )
    .registerFunction('string.upperAscii_(): string', (text: string) =>
      read(text).replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
    )
    .registerFunction('string.trim_(): string', (text: string) => trimmed(read(text)))
    .registerFunction('string.matches_(string): bool', matches)
    .registerFunction('matches_(string, string): bool', matches)
    .registerFunction('string.split_(string): list<string>', split)
    .registerFunction('string.split_(string, int): list<string>', split)
    .registerFunction('list.join_(): string', join)
    .registerFunction('list.join_(string): string', join)
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) => {
      // What it could grow to.
      allowance.spend(text.length + (text.length / Math.max(from.length, 1) + 1) * to.length);
      return text.replaceAll(from, () => to);
    })
    .registerFunction('string.charAt(int): string', (text: string, index: bigint) =>
      charAt(read(text), index),
    );
}

/** Character by character: a pattern for the blanks at the end would try each of those in the middle. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && BLANK.test(text.charAt(start))) start += 1;
  while (end > start && BLANK.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** By character, never by half of one; with a limit the last part is all that is left. */
function partsOf(text: string, separator: string, limit: number, maxParts: number): readonly string[] {
  if (limit === 0) return [];
  const parts = separator === '' ? [...text] : text.split(separator);
  if (parts.length > maxParts) throw new FunctionError('split() makes too many parts');
  if (limit < 0 || parts.length <= limit) return parts;
  return [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

function joined(list: readonly unknown[], separator: string, allowance: Allowance): string {
  if (!list.every((member) => typeof member === 'string'))
    throw new FunctionError('join() takes a list of strings');
  allowance.spend(list.reduce((length, member) => length + member.length + separator.length, 0));
  return list.join(separator);
}

function charAt(text: string, index: bigint): string {
  const characters = [...text];
  if (index < 0n || index > characters.length) throw new FunctionError('charAt() is out of range');
  return characters[Number(index)] ?? '';
}
