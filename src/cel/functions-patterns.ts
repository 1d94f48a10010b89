/**
 * Regular expressions as RE2 has them, which no text makes slow. RE2's port is used here alone.
 * https://github.com/google/re2/wiki/Syntax;
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-regex-library
 */
import { RE2JS, RE2JSException } from 're2js';
import type { Declarations, Functions } from './declarations.ts';
import { type Budget, EvaluationFault, noSuchOverload } from './errors.ts';
import { List, type Value } from './values.ts';

export function declarePatterns(declarations: Declarations): void {
  declarations
    .addAny(['matches(string, string): bool', 'string.matches(string): bool'], ([text, pattern], budget) =>
      compiled(text, pattern, budget).test(String(text)),
    )
    .add(PATTERNS);
}

/** An expression mostly uses the same patterns each time, so they are cached compiled. */
const MAX_KNOWN = 1_000;
const known = new Map<string, RE2JS>();

/** @throws EvaluationFault for what is no pattern */
function compiled(text: Value | undefined, pattern: Value | undefined, budget: Budget): RE2JS {
  if (typeof text !== 'string' || typeof pattern !== 'string') throw noSuchOverload('a pattern');
  budget.spendPattern(text.length, pattern.length);
  const found = known.get(pattern);
  if (found !== undefined) return found;
  const created = compilePattern(pattern);
  if (created === undefined) throw new EvaluationFault('no pattern of RE2');
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(pattern, created);
  return created;
}

/** @returns undefined for what is no pattern */
export function compilePattern(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}

function findAll([text, pattern, limit = -1n]: readonly Value[], budget: Budget): List {
  const matcher = compiled(text, pattern, budget).matcher(String(text));
  const found: string[] = [];
  while ((limit === -1n || Number(limit) < 0 || found.length < Number(limit)) && matcher.find())
    found.push(matcher.group() ?? '');
  return new List(found, { ofGoStrings: true });
}

const PATTERNS: Functions = {
  'string.find(string): string': ([text, pattern], budget) => {
    const matcher = compiled(text, pattern, budget).matcher(String(text));
    return matcher.find() ? (matcher.group() ?? '') : '';
  },
  'string.findAll(string): list<string>': findAll,
  'string.findAll(string, int): list<string>': findAll,
};
