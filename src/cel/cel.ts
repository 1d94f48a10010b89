/**
 * CEL expressions as kube-apiserver's AuthenticationConfiguration has them: about the `claims` of a token, or
 * about the `user` they make. Compiled and type-checked when a configuration is loaded, evaluated once per
 * token, both as cel-go does it with the libraries that Kubernetes switches on.
 * https://kubernetes.io/docs/reference/using-api/cel/; https://github.com/google/cel-spec
 */
import { type Call, childrenOf, type Node } from './ast.ts';
import { check } from './checker.ts';
import { claimsRoot, type UserValue, userRoot } from './claims.ts';
import type { Checked } from './declarations.ts';
import { environmentOf } from './environment.ts';
import { Budget, BudgetSpent, EvaluationFault, SyntaxFault } from './errors.ts';
import { formatFault } from './format.ts';
import { compilePattern } from './functions-patterns.ts';
import { evaluate, evaluateConstant } from './interpreter.ts';
import { parse } from './parser.ts';
import { describe, isSame, type Type, unwrapped } from './types.ts';
import { List, type Root, TypeValue, type Value } from './values.ts';

/** What an expression may speak of. */
export type Subject = 'claims' | 'user';

export interface Expression<Given> {
  /** As far as it is known without a token: `bool`, `string`, `list(string)`, …; `any` of a claim. */
  readonly type: string;
  /**
   * Whether it gives the result of `split` or `findAll`, which kube-apiserver takes for no list of strings.
   */
  readonly givesListOfGo: boolean;
  /** Whether it selects this field of `claims`, as `claims.name` or `claims.?name`. */
  readonly selects: (field: string) => boolean;
  /** The claims it reads by a name that is written out. */
  readonly claims: ReadonlySet<string>;
  /** @throws ExpressionError if it cannot be evaluated; the message repeats nothing of the value */
  evaluate(given: Given): Result;
}

/** What an expression may give; no field takes anything else. */
export type Result = string | boolean | null | StringList | undefined;

export interface StringList {
  readonly strings: readonly string[];
  /** As `split` gives it: kube-apiserver takes such a list for no list of strings. */
  readonly ofGo: boolean;
}

/** Continues a sentence that begins with the expression, in words of the expression alone. */
export class ExpressionError extends Error {}

/** @throws ExpressionError if it is no expression, or kube-apiserver would not compile it */
export function compileClaimsExpression(source: string): Expression<object> {
  const compiled = compile(source, 'claims');
  return { ...compiled, evaluate: (claims) => run(compiled, 'claims', claimsRoot(claims)) };
}

/** @throws ExpressionError if it is no expression, or kube-apiserver would not compile it */
export function compileUserExpression(source: string): Expression<UserValue> {
  const compiled = compile(source, 'user');
  return { ...compiled, evaluate: (user) => run(compiled, 'user', userRoot(user)) };
}

interface Compiled extends Omit<Expression<never>, 'evaluate'> {
  readonly root: Node;
  readonly checked: Checked;
}

function compile(source: string, subject: Subject): Compiled {
  try {
    const root = parse(source);
    const checked = check(root, environmentOf(subject));
    const nodes = [...nodesIn(root)];
    for (const { node, ancestors } of nodes) validate(node, ancestors, checked);
    foldConstants(root, checked);
    const reads = nodes.flatMap(({ node }) => claimRead(node));
    return {
      root,
      checked,
      type: describe(checked.type),
      givesListOfGo: givesListOfGo(root),
      claims: new Set(reads.map(({ name }) => name)),
      selects: (field) => reads.some(({ name, selected }) => selected && name === field),
    };
  } catch (error) {
    if (error instanceof SyntaxFault)
      throw new ExpressionError(`${error.message} at character ${error.at + 1}`);
    throw error;
  }
}

interface Placed {
  readonly node: Node;
  readonly ancestors: readonly Node[];
}

function* nodesIn(node: Node, ancestors: readonly Node[] = []): Generator<Placed> {
  yield { node, ancestors };
  const within = [...ancestors, node];
  for (const child of childrenOf(node)) yield* nodesIn(child, within);
}

/**
 * What kube-apiserver checks beyond types: literals of lists and maps, of patterns, and arguments of
 * `format`.
 */
function validate(node: Node, ancestors: readonly Node[], checked: Checked): void {
  if ((node.kind === 'list' || node.kind === 'map') && !ancestors.some(isFormat))
    requireHomogeneous(node, checked);
  if (node.kind !== 'call') return;
  const name = checked.calls.get(node)?.declaration.name;
  if (name === 'matches' || name === 'find' || name === 'findAll') requirePattern(node);
  if (name !== 'format' || node.target?.kind !== 'literal' || typeof node.target.value !== 'string') return;
  const [list] = node.args;
  if (list?.kind !== 'list') return;
  const fault = formatFault(
    node.target.value,
    list.elements.map(({ value }) => value),
    checked,
  );
  if (fault !== undefined) throw new SyntaxFault(fault, node.at);
}

function givesListOfGo(node: Node): boolean {
  if (node.kind !== 'call') return false;
  if (node.name === '_?_:_') return node.args.slice(1).some(givesListOfGo);
  return node.name === 'split' || node.name === 'findAll';
}

function isFormat(node: Node): boolean {
  return node.kind === 'call' && node.name === 'format';
}

function requireHomogeneous(node: Node, { typeOf }: Checked): void {
  const typed = (value: Node, optional: boolean) => (optional ? unwrapped(typeOf(value)) : typeOf(value));
  if (node.kind === 'list') {
    requireSame(
      node,
      node.elements.map(({ value, optional }) => typed(value, optional)),
    );
  }
  if (node.kind === 'map') {
    requireSame(
      node,
      node.entries.map(({ key }) => typeOf(key)),
    );
    requireSame(
      node,
      node.entries.map(({ value, optional }) => typed(value, optional)),
    );
  }
}

function requireSame({ at }: Node, [first, ...others]: readonly Type[]): void {
  const other = others.find((type) => first !== undefined && !isSame(first, type, false));
  if (first === undefined || other === undefined) return;
  throw new SyntaxFault(`expected type '${describe(first)}' but found '${describe(other)}'`, at);
}

function requirePattern({ target, args, at }: Call): void {
  const pattern = target === undefined ? args[1] : args[0];
  if (pattern?.kind !== 'literal' || typeof pattern.value !== 'string') return;
  if (compilePattern(pattern.value) === undefined) throw new SyntaxFault('no pattern of RE2', at);
}

const CONVERSIONS = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
]);

/**
 * A conversion of what is written out is made when an expression is compiled, and what fails then does not
 * compile.
 */
function foldConstants(node: Node, checked: Checked): boolean {
  const children = childrenOf(node).map((child) => foldConstants(child, checked));
  if (node.kind === 'literal') return true;
  if (node.kind === 'list' || node.kind === 'map') return children.every((constant) => constant);
  if (node.kind !== 'call' || !CONVERSIONS.has(node.name) || !children.every((constant) => constant))
    return false;
  try {
    evaluateConstant(node, checked, new Budget());
    return true;
  } catch (error) {
    if (error instanceof EvaluationFault) throw new SyntaxFault(error.message, node.at);
    throw error;
  }
}

interface Read {
  readonly name: string;
  readonly selected: boolean;
}

/** `claims.name`, `claims.?name` and `claims["name"]`. */
function claimRead(node: Node): readonly Read[] {
  if (node.kind === 'select' && isClaims(node.operand)) return [{ name: node.field, selected: true }];
  if (node.kind !== 'call') return [];
  const [operand, member] = node.args;
  if (operand === undefined || !isClaims(operand)) return [];
  if (member?.kind !== 'literal' || typeof member.value !== 'string') return [];
  if (node.name === '_?._') return [{ name: member.value, selected: true }];
  return node.name === '_[_]' || node.name === '_[?_]' ? [{ name: member.value, selected: false }] : [];
}

function isClaims(node: Node): boolean {
  return node.kind === 'ident' && node.name === 'claims';
}

function run({ root, checked }: Compiled, subject: Subject, given: Root): Result {
  try {
    return resultOf(evaluate(root, checked, subject, given, new Budget()));
  } catch (error) {
    if (error instanceof EvaluationFault || error instanceof BudgetSpent)
      throw new ExpressionError(error.message);
    // The stack has ended within a claim that is nested thousands deep.
    if (error instanceof RangeError) throw new ExpressionError('it is nested too deeply');
    throw error;
  }
}

function resultOf(value: Value): Result {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (!(value instanceof List)) return undefined;
  const strings = value.items.flatMap(textOf);
  return strings.length === value.items.length ? { strings, ofGo: value.ofGoStrings } : undefined;
}

/** A type is a text to kube-apiserver, its name. */
function textOf(value: Value): readonly string[] {
  if (value instanceof TypeValue) return [value.name];
  return typeof value === 'string' ? [value] : [];
}
