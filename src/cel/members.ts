/**
 * What is within a value: a member by field or index, the items that a comprehension runs over, and whether
 * they are of the types that a function takes.
 */
import { type Node, qualifiedName } from './ast.ts';
import type { Overload } from './declarations.ts';
import { EvaluationFault, noSuchOverload } from './errors.ts';
import { runtimeType } from './operators.ts';
import type { Type } from './types.ts';
import { asOfClaim, Dictionary, integerOf, List, Optional, Root, type Value } from './values.ts';

/** What a name stands for: of an accumulator, perhaps what went wrong. */
export type Bound = Value | EvaluationFault;

/** A field or an index. */
export interface Qualifier {
  readonly key: () => Value;
  readonly optional: boolean;
  /** If it is written out. */
  readonly field?: string;
}

/** A value read by fields and indexes, and whether one of them was optional. */
export interface Attribute {
  readonly value: Value | undefined;
  readonly optional: boolean;
}

/** @param lenient whether what has no members is only without this one */
export function member(value: Value, key: Value, lenient: boolean): Value | undefined {
  if (value instanceof Root || value instanceof Dictionary) return value.find(key);
  if (value instanceof List) {
    const index = integerOf(key);
    if (index === undefined) throw noSuchOverload('an index');
    if (lenient && (index < 0n || index >= BigInt(value.items.length))) return undefined;
    return value.get(index);
  }
  if (value instanceof Optional)
    return value.value === undefined ? undefined : member(value.value, key, lenient);
  return undefined;
}

/** Without what kube-apiserver knows of a claim's names, which a value in an optional has lost. */
export function plain(value: Value): Value {
  if (value instanceof List) return value.ofClaim ? new List(value.items) : value;
  if (value instanceof Dictionary) return value.ofClaim ? new Dictionary(value.entries()) : value;
  return value;
}

export function optionalItems(value: Value): readonly Value[] {
  if (!(value instanceof Optional)) throw noSuchOverload('an optional element');
  return value.value === undefined ? [] : [value.value];
}

type Item = readonly [Bound, Bound];

export function itemsOf(range: Value): readonly Item[] {
  if (range instanceof List) return range.items.map((item) => [item, null]);
  if (range instanceof Dictionary) return range.keys().map((key) => [key, null]);
  if (range instanceof Root) return range.values().map((value) => [value, null]);
  throw noSuchOverload('a comprehension');
}

export function pairsOf(range: Value): readonly Item[] {
  if (range instanceof List) {
    return range.items.map((item, index) => [BigInt(index), range.ofClaim ? asOfClaim(item) : item]);
  }
  if (range instanceof Dictionary) return range.entries();
  if (range instanceof Root) return range.values().map((value) => [value, found(range, value)]);
  throw noSuchOverload('a comprehension');
}

function found(range: Root, key: Value): Bound {
  const value = typeof key === 'string' ? range.find(key) : undefined;
  return value ?? new EvaluationFault('no such key');
}

export function fits(overload: Overload, args: readonly Value[], unguarded: boolean): boolean {
  if (overload.args.length !== args.length) return false;
  return unguarded || overload.args.every((type, index) => isOfType(args[index] ?? null, type));
}

/** The first member decides for lists and maps, as in cel-go. */
function isOfType(value: Value, type: Type): boolean {
  if (type.kind === 'dyn' || type.kind === 'any' || type.kind === 'param') return true;
  if (type.name !== runtimeType(value)) return false;
  const [element, second] = type.of;
  if (value instanceof List && element !== undefined) {
    const [first] = value.items;
    return first === undefined || isOfType(first, element);
  }
  if (value instanceof Dictionary && element !== undefined && second !== undefined) {
    const [entry] = value.entries();
    return entry === undefined || (isOfType(entry[0], element) && isOfType(entry[1], second));
  }
  return true;
}

/** In words of the expression alone. */
export function noSuchKey(operand: Node, field: string | undefined): EvaluationFault {
  const name = qualifiedName(operand);
  const place = name === undefined || field === undefined ? '' : ` at ${JSON.stringify(`${name}.${field}`)}`;
  return new EvaluationFault(`no such key${place}`);
}

export function required(node: Node | undefined): Node {
  if (node === undefined) throw noSuchOverload('an operator');
  return node;
}
