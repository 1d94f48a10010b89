/**
 * The operators of CEL on values whose types are known only now: as in cel-go, what does not fit is an error,
 * and numbers of different types are compared by their value.
 */
import { EvaluationFault, noSuchOverload } from './errors.ts';
import { checkedInt, checkedUint } from './numbers.ts';
import { durationBetween, shifted } from './times.ts';
import {
  Dictionary,
  Duration,
  List,
  Opaque,
  Optional,
  Root,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts';

export function runtimeType(value: Value): string {
  if (value === null) return 'null_type';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'number':
      return 'double';
    case 'bigint':
      return 'int';
    default:
      return objectType(value);
  }
}

function objectType(value: Exclude<Value, null | boolean | string | number | bigint>): string {
  if (value instanceof List) return 'list';
  if (value instanceof Dictionary) return 'map';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof Optional) return 'optional_type';
  return value.type;
}

export function isEqual(a: Value, b: Value): boolean {
  if (a instanceof Root) return equalRoot(a, b);
  const order = numericOrder(a, b);
  if (order !== undefined) return order === 0;
  if (a === null || typeof a !== 'object') return a === b;
  if (a instanceof List) {
    if (!(b instanceof List) || a.items.length !== b.items.length) return false;
    return a.items.every((item, index) => isEqual(item, b.items[index] ?? null));
  }
  if (a instanceof Dictionary) {
    if (!(b instanceof Dictionary) || a.size !== b.size) return false;
    return a.entries().every(([key, value]) => {
      const other = b.lookUp(key);
      return other !== undefined && isEqual(value, other);
    });
  }
  return equalObjects(a, b);
}

/** @throws EvaluationFault for anything but itself: kube-apiserver's own map compares with nothing */
function equalRoot(a: Root, b: Value): boolean {
  if (b instanceof Root) return a === b;
  if (b === null) return false;
  throw noSuchOverload('_==_');
}

type Object_ = Exclude<Value, null | boolean | string | number | bigint | List | Dictionary | Root>;

function equalObjects(a: Object_, b: Value): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Opaque) {
    if (b instanceof Opaque && b.type === a.type) return a.key === b.key;
    if (b === null) return false;
    throw noSuchOverload('_==_');
  }
  if (a instanceof Optional && b instanceof Optional) {
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return isEqual(a.value, b.value);
  }
  return false;
}

/** Orders two numbers; NaN for those without an order, undefined for anything else. */
function numericOrder(a: Value, b: Value): number | undefined {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left === undefined || right === undefined) return undefined;
  if (typeof left === typeof right) return difference(left, right);
  // Within the other type's range they are compared as doubles, in spite of what is lost.
  if (typeof left === 'number') return orderOfDouble(left, right, b);
  return typeof right === 'number' ? -orderOfDouble(right, left, a) : undefined;
}

function orderOfDouble(double: number, other: bigint | number, typed: Value): number {
  if (typed instanceof Uint && double < 0) return -1;
  return difference(double, Number(other));
}

function difference(a: bigint | number, b: bigint | number): number {
  if (a === b) return 0;
  if (a < b) return -1;
  return a > b ? 1 : Number.NaN;
}

function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
}

/** @throws EvaluationFault for what has no order */
export function compare(a: Value, b: Value): number {
  const order = numericOrder(a, b);
  if (order !== undefined) {
    if (Number.isNaN(order)) throw new EvaluationFault('NaN values cannot be ordered');
    return order;
  }
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Duration && b instanceof Duration) return difference(a.nanoseconds, b.nanoseconds);
  if (a instanceof Timestamp && b instanceof Timestamp) return difference(a.nanoseconds, b.nanoseconds);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  throw noSuchOverload('a comparison');
}

/**
 * By code point, as Go compares UTF-8. By UTF-16 the halves of a character would come before some single
 * ones.
 */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left === right) continue;
    const [leftIsHalf, rightIsHalf] = [isHalf(left), isHalf(right)];
    if (leftIsHalf !== rightIsHalf) return leftIsHalf ? 1 : -1;
    return Math.sign(left - right);
  }
  return Math.sign(a.length - b.length);
}

function isHalf(unit: number): boolean {
  return unit >= 0xd8_00 && unit <= 0xdf_ff;
}

export function isComparable(value: Value): boolean {
  const simple = value !== null && typeof value !== 'object';
  return simple || [Uint, Duration, Timestamp, Uint8Array].some((kind) => value instanceof kind);
}

/** @throws EvaluationFault for what cannot be added */
export function add(a: Value, b: Value): Value {
  if (typeof a === 'string' && typeof b === 'string') return a + b;
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a + b);
  if (a instanceof Uint && b instanceof Uint) return new Uint(checkedUint(a.value + b.value));
  if (a instanceof List && b instanceof List) return joined(a, b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.concat([a, b]);
  if (a instanceof Duration && b instanceof Duration)
    return new Duration(checkedInt(a.nanoseconds + b.nanoseconds));
  if (a instanceof Timestamp && b instanceof Duration) return shifted(a, b.nanoseconds);
  if (a instanceof Duration && b instanceof Timestamp) return shifted(b, a.nanoseconds);
  throw noSuchOverload('_+_');
}

/** An empty one is left out: the other stays what it is. */
function joined(a: List, b: List): List {
  if (a.items.length === 0) return b;
  return b.items.length === 0 ? a : new List([...a.items, ...b.items]);
}

/** @throws EvaluationFault for what cannot be subtracted */
export function subtract(a: Value, b: Value): Value {
  if (a instanceof Duration && b instanceof Duration)
    return new Duration(checkedInt(a.nanoseconds - b.nanoseconds));
  if (a instanceof Timestamp && b instanceof Timestamp) return durationBetween(a, b);
  if (a instanceof Timestamp && b instanceof Duration) return shifted(a, -b.nanoseconds);
  return calculated('_-_', a, b, { int: (x, y) => x - y, double: (x, y) => x - y });
}

export function multiply(a: Value, b: Value): Value {
  return calculated('_*_', a, b, { int: (x, y) => x * y, double: (x, y) => x * y });
}

export function divide(a: Value, b: Value): Value {
  return calculated('_/_', a, b, { int: (x, y) => x / byNonZero(y), double: (x, y) => x / y });
}

export function modulo(a: Value, b: Value): Value {
  return calculated('_%_', a, b, { int: (x, y) => x % byNonZero(y) });
}

export function negate(value: Value): Value {
  if (typeof value === 'bigint') return checkedInt(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof Duration) return new Duration(checkedInt(-value.nanoseconds));
  throw noSuchOverload('-_');
}

interface Calculation {
  readonly int: (a: bigint, b: bigint) => bigint;
  readonly double?: (a: number, b: number) => number;
}

function calculated(name: string, a: Value, b: Value, { int, double }: Calculation): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(int(a, b));
  if (a instanceof Uint && b instanceof Uint) return new Uint(checkedUint(int(a.value, b.value)));
  if (double !== undefined && typeof a === 'number' && typeof b === 'number') return double(a, b);
  throw noSuchOverload(name);
}

function byNonZero(value: bigint): bigint {
  if (value === 0n) throw new EvaluationFault('division by zero');
  return value;
}

/** @throws EvaluationFault for what contains nothing */
export function contains(container: Value, value: Value): boolean {
  if (container instanceof List) return container.items.some((item) => equalsIn(value, item));
  if (container instanceof Dictionary) return container.lookUp(value) !== undefined;
  throw noSuchOverload('@in');
}

/** What cannot be compared is not the same. */
export function equalsIn(a: Value, b: Value): boolean {
  try {
    return isEqual(a, b);
  } catch (error) {
    if (error instanceof EvaluationFault) return false;
    throw error;
  }
}
