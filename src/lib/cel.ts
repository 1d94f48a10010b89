/**
 * CEL expressions as kube-apiserver's AuthenticationConfiguration has them: about the `claims` of a token, or about the
 * `user` they make. Compiled and type-checked when a configuration is loaded, evaluated once per token. The package
 * is used here alone.
 *
 * Evaluation ends soon whatever a token says: no recursion, no unbounded pattern and so much text to handle in all
 * (`cel-functions.ts`), at most two comprehensions within each other, and lists of a bounded length to run over.
 * https://github.com/google/cel-spec; https://kubernetes.io/docs/reference/using-api/cel/
 */

import type { RE2JS } from '@bufbuild/re2';
import {
  type ASTNode,
  Environment,
  EvaluationError,
  ParseError,
  TypeError as TypeFault,
} from '@marcbachmann/cel-js';
import {
  Allowance,
  callOurs,
  FunctionError,
  namedAsWritten,
  patternOf,
  registerFunctions,
} from './cel-functions.ts';

/** What an expression may speak of. */
export type Subject = 'claims' | 'user';

export interface Expression {
  /** As far as it can be told without a token: `bool`, `string`, `list<string>`, …; `dyn` where it cannot. */
  readonly type: string;
  /** The claims it reads by a name that is written out. */
  readonly claims: ReadonlySet<string>;
  /**
   * @param value what the variable stands for: parsed JSON
   * @throws ExpressionError where it cannot be evaluated; the message repeats nothing of the value
   */
  evaluate(value: object): unknown;
}

/** Continues a sentence that begins with the expression, in words of the expression alone. */
export class ExpressionError extends Error {}

/** In characters. */
const MAX_LENGTH = 10_000;
const MAX_COMPREHENSIONS = 2;
/** How much of what there may be in a token. */
interface Bounds {
  /** Of any list and mapping: Entra ID sends at most 200 groups. */
  readonly members: number;
  /** Of any text, in characters: what a function of the package's own may have to read each time. */
  readonly text: number;
}

const BOUNDS: Bounds = { members: 1_000, text: 64 * 1024 };
/** Where comprehensions are within each other. */
const BOUNDS_NESTED: Bounds = { members: 250, text: 2_000 };
const MAX_DEPTH = 32;
const COMPREHENSIONS = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** `user`, as kube-apiserver declares it. */
const USER = {
  username: 'string',
  uid: 'string',
  groups: 'list<string>',
  extra: 'map<string, list<string>>',
};

/** @throws ExpressionError where it is no expression, has an error of type, or is more than one may ask for */
export function compileExpression(source: string, subject: Subject): Expression {
  if (source.length > MAX_LENGTH) throw new ExpressionError(`is longer than ${MAX_LENGTH} characters`);
  const patterns = new Map<string, RE2JS>();
  const allowance = new Allowance();
  const environment = registerFunctions(
    new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false }),
    patterns,
    allowance,
  );
  if (subject === 'claims') environment.registerVariable('claims', 'map<string, dyn>');
  else environment.registerVariable({ name: 'user', schema: USER });
  const run = saying(source, () => environment.parse(source));
  const claims = new Set<string>();
  let bounds = BOUNDS;
  saying(source, () =>
    prepare(run.ast, 0, (node, depth) => {
      if (depth > 1) bounds = BOUNDS_NESTED;
      const claim = claimRead(node);
      if (claim !== undefined) claims.add(claim);
      const found = node.op === 'call' || node.op === 'rcall' ? patternOf(node) : undefined;
      if (found !== undefined) patterns.set(found.text, found.pattern);
    }),
  );
  const { valid, type = 'dyn', error } = run.check();
  if (!valid) throw told(error, source) ?? error;
  return {
    type,
    claims,
    evaluate(value) {
      refuseExcess(value, bounds);
      if (subject === 'claims') for (const name of claims) refuseInexact(value, name);
      allowance.renew(bounds.members);
      return saying(source, () => run({ [subject]: value }), unforeseen);
    },
  };
}

/** Visits every node, before calls of what is replaced are made calls of ours. */
function prepare(node: ASTNode, depth: number, visit: (node: ASTNode, depth: number) => void): void {
  visit(node, depth);
  if (node.op !== 'call' && node.op !== 'rcall') {
    for (const part of nodesIn(node.args)) prepare(part, depth, visit);
    return;
  }
  const inner = node.op === 'rcall' && COMPREHENSIONS.has(node.args[0]) ? depth + 1 : depth;
  if (inner > MAX_COMPREHENSIONS) {
    throw new FunctionError(`more than ${MAX_COMPREHENSIONS} comprehensions are within each other`);
  }
  if (node.op === 'rcall') prepare(node.args[1], depth, visit);
  for (const part of node.op === 'rcall' ? node.args[2] : node.args[1]) prepare(part, inner, visit);
  callOurs(node);
}

function nodesIn(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  return isNode(args) ? [args] : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

/** `claims.name`, `claims["name"]` and their optional forms. */
function claimRead(node: ASTNode): string | undefined {
  if (node.op !== '.' && node.op !== '.?' && node.op !== '[]' && node.op !== '[?]') return undefined;
  const [of, member] = node.args;
  if (of.op !== 'id' || of.args !== 'claims') return undefined;
  if (typeof member === 'string') return member;
  return member.op === 'value' && typeof member.args === 'string' ? member.args : undefined;
}

function refuseExcess(value: unknown, bounds: Bounds, depth = 0): void {
  if (typeof value === 'string' && value.length > bounds.text)
    throw new ExpressionError(`is given a text of more than ${bounds.text} characters`);
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) throw new ExpressionError(`is given what is nested deeper than ${MAX_DEPTH} levels`);
  const members = Array.isArray(value) ? value : Object.values(value);
  if (members.length > bounds.members)
    throw new ExpressionError(`is given a list or a mapping of more than ${bounds.members} members`);
  for (const member of members) refuseExcess(member, bounds, depth + 1);
}

/** Of two large numbers in JSON that differ in the last digit alone, one number was made: two people would be one. */
function refuseInexact(claims: object, name: string): void {
  const visit = (value: unknown): void => {
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
      throw new ExpressionError(
        `is given a number too large to be exact by the claim ${JSON.stringify(name)}`,
      );
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  visit(Object.getOwnPropertyDescriptor(claims, name)?.value);
}

function saying<T>(source: string, attempt: () => T, otherwise = (error: unknown) => error): T {
  try {
    return attempt();
  } catch (error) {
    throw told(error, source) ?? otherwise(error);
  }
}

/** A function of JavaScript's that would not take a value, such as a time zone nobody has heard of. */
function unforeseen(error: unknown): unknown {
  return error instanceof Error ? new ExpressionError(`ends in a ${error.name}`) : error;
}

/** The package's own words while nothing is evaluated; afterwards they may repeat what a token says. */
function told(error: unknown, source: string): ExpressionError | undefined {
  if (error instanceof FunctionError) return new ExpressionError(error.message);
  if (error instanceof EvaluationError) {
    const { start = 0, end = source.length } = error.range ?? {};
    return new ExpressionError(
      `${error.code.replaceAll('_', ' ')} at ${JSON.stringify(source.slice(start, end))}`,
    );
  }
  if (error instanceof ParseError || error instanceof TypeFault) {
    const at = error.range === undefined ? '' : ` at character ${error.range.start + 1}`;
    return new ExpressionError(`${namedAsWritten(error.summary)}${at}`);
  }
  return undefined;
}
