/**
 * The standard functions and operators of CEL.
 * https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions
 */
import type { Declarations, Functions, Run } from './declarations.ts';
import { type Budget, EvaluationFault, noSuchOverload } from './errors.ts';
import {
  checkedInt,
  checkedUint,
  formatDouble,
  intOfDouble,
  parseDouble,
  parseInt64,
  parseUint64,
  uintOfDouble,
} from './numbers.ts';
import {
  add,
  compare,
  contains,
  divide,
  modulo,
  multiply,
  negate,
  runtimeType,
  subtract,
} from './operators.ts';
import {
  formatDuration,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  timestampOf,
  unixSeconds,
} from './times.ts';
import { Duration, sizeOf, Timestamp, TypeValue, Uint, type Value } from './values.ts';

export function declareStandard(declarations: Declarations): void {
  declareOperators(declarations);
  declarations.add(CONVERSIONS).addUnguarded(TEXTS);
}

const SAME = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];
const NUMBERS = ['int', 'uint', 'double'];
const ORDERED = [
  ...SAME.map((type) => [type, type] as const),
  ...NUMBERS.flatMap((a) => NUMBERS.filter((b) => b !== a).map((b) => [a, b] as const)),
];

function declareOperators(declarations: Declarations): void {
  const ordered = (name: string, test: (order: number) => boolean) =>
    declarations.addAny(
      ORDERED.map(([a, b]) => `${name}(${a}, ${b}): bool`),
      ([a = null, b = null], budget) => {
        const size = Math.min(textSize(a), textSize(b));
        if (size > 0) budget.spendText(size);
        else budget.spend(1);
        return test(compare(a, b));
      },
    );
  ordered('_<_', (order) => order < 0);
  ordered('_<=_', (order) => order <= 0);
  ordered('_>_', (order) => order > 0);
  ordered('_>=_', (order) => order >= 0);
  const binary = (name: string, types: readonly string[], run: (a: Value, b: Value) => Value) =>
    declarations.addAny(
      types.map(
        (type) => `${name}(${type.includes(':') ? type.replace(':', '): ') : `${type}, ${type}): ${type}`}`,
      ),
      ([a = null, b = null], budget) => {
        spendOnBoth(a, b, budget);
        return run(a, b);
      },
    );
  const times = ['duration, timestamp:timestamp', 'timestamp, duration:timestamp'];
  binary('_+_', ['bytes', 'double', 'duration', ...times, 'int', 'list<A>', 'string', 'uint'], add);
  binary(
    '_-_',
    ['double', 'duration', 'int', 'timestamp, duration:timestamp', 'timestamp, timestamp:duration', 'uint'],
    subtract,
  );
  binary('_*_', NUMBERS, multiply);
  binary('_/_', NUMBERS, divide);
  binary('_%_', ['int', 'uint'], modulo);
  declarations
    .addAny(['-_(double): double', '-_(int): int'], one(negate))
    .addAny(['!_(bool): bool'], one(not))
    .addAny(
      ['@in(A, list<A>): bool', '@in(A, map<A, B>): bool'],
      ([value = null, container = null], budget) => {
        budget.spend(Math.max(1, sizeOf(container) ?? 1));
        return contains(container, value);
      },
    )
    .addAny(['_==_(A, A): bool', '_!=_(A, A): bool'])
    .addAny(['_?_:_(bool, A, A): A'])
    .addAny(['_&&_(bool, bool): bool', '_||_(bool, bool): bool', '@not_strictly_false(bool): bool'])
    .addAny(['_[_](list<A>, int): A', '_[_](map<A, B>, A): B'])
    .addAny(
      ['string', 'bytes', 'list<A>', 'map<A, B>'].flatMap((type) => [
        `size(${type}): int`,
        `${type}.size(): int`,
      ]),
      one((value) => {
        const size = sizeOf(value);
        if (size === undefined) throw noSuchOverload('size');
        return BigInt(size);
      }),
    )
    .addAny(
      ['type(A): type<A>'],
      one((value) => new TypeValue(runtimeType(value))),
    )
    .addAny(
      ['dyn(A): dyn'],
      one((value) => value),
    );
}

function one(run: (value: Value) => Value): Run {
  return ([value = null], budget) => {
    budget.spend(1);
    return run(value);
  };
}

function not(value: Value): boolean {
  if (typeof value !== 'boolean') throw noSuchOverload('!_');
  return !value;
}

function textSize(value: Value): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

function spendOnBoth(a: Value, b: Value, budget: Budget): void {
  const size = textSize(a) + textSize(b);
  if (size > 0) budget.spendText(size);
  else budget.spend(1);
}

/** @throws EvaluationFault for undefined */
function converted<T>(value: T | undefined): T {
  return value ?? unconvertible();
}

function unconvertible(): never {
  throw new EvaluationFault('type conversion error');
}

const TRUTHS = new Map<Value, boolean>([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((word) => [word, false] as const),
]);

const identity = one((value) => value);
const CONVERSIONS: Functions = {
  'bool(bool): bool': identity,
  'bool(string): bool': one((value) => converted(TRUTHS.get(value))),
  'bytes(bytes): bytes': identity,
  'bytes(string): bytes': one((value) => Buffer.from(String(value), 'utf8')),
  'double(double): double': identity,
  'double(int): double': one(Number),
  'double(string): double': one((value) => converted(parseDouble(String(value)))),
  'double(uint): double': one((value) => Number(uint(value))),
  'duration(duration): duration': identity,
  'duration(int): duration': one(unconvertible),
  'duration(string): duration': one((value) => converted(parseDuration(String(value)))),
  'int(int): int': identity,
  'int(double): int': one((value) => intOfDouble(Number(value))),
  'int(duration): int': one((value) => duration(value).nanoseconds),
  'int(string): int': one((value) => converted(parseInt64(String(value)))),
  'int(timestamp): int': one((value) => unixSeconds(timestamp(value))),
  'int(uint): int': one((value) => checkedInt(uint(value))),
  'string(string): string': identity,
  'string(bool): string': one(String),
  'string(bytes): string': one(textOfBytes),
  'string(double): string': one((value) => formatDouble(Number(value))),
  'string(duration): string': one((value) => formatDuration(duration(value))),
  'string(int): string': one(String),
  'string(timestamp): string': one((value) => formatTimestamp(timestamp(value))),
  'string(uint): string': one((value) => String(uint(value))),
  'timestamp(timestamp): timestamp': identity,
  'timestamp(int): timestamp': one((value) => timestampOf(int(value))),
  'timestamp(string): timestamp': one((value) => converted(parseTimestamp(String(value)))),
  'uint(uint): uint': identity,
  'uint(double): uint': one((value) => new Uint(uintOfDouble(Number(value)))),
  'uint(int): uint': one((value) => new Uint(checkedUint(int(value)))),
  'uint(string): uint': one((value) => new Uint(converted(parseUint64(String(value))))),
};

function int(value: Value): bigint {
  return typeof value === 'bigint' ? value : unconvertible();
}

function uint(value: Value): bigint {
  return value instanceof Uint ? value.value : unconvertible();
}

function duration(value: Value): Duration {
  return value instanceof Duration ? value : unconvertible();
}

function timestamp(value: Value): Timestamp {
  return value instanceof Timestamp ? value : unconvertible();
}

function textOfBytes(value: Value): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      value instanceof Uint8Array ? value : undefined,
    );
  } catch (error) {
    if (error instanceof TypeError) throw new EvaluationFault('invalid UTF-8');
    throw error;
  }
}

function text(test: (text: string, part: string) => boolean): Run {
  return ([value, part], budget) => {
    if (typeof value !== 'string' || typeof part !== 'string') throw noSuchOverload('a test of text');
    budget.spendText(value.length + part.length);
    return test(value, part);
  };
}

const TEXTS: Functions = {
  'string.contains(string): bool': text((value, part) => value.includes(part)),
  'string.endsWith(string): bool': text((value, part) => value.endsWith(part)),
  'string.startsWith(string): bool': text((value, part) => value.startsWith(part)),
};
