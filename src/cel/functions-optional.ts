/**
 * Optional values.
 * https://pkg.go.dev/github.com/google/cel-go/cel#OptionalTypes
 */
import type { Declarations, Functions } from './declarations.ts';
import { EvaluationFault, noSuchOverload } from './errors.ts';
import { Dictionary, Duration, List, Optional, Timestamp, Uint, type Value } from './values.ts';

export function declareOptional(declarations: Declarations): void {
  declarations
    .add(OPTIONAL)
    .addAny(['optional<V>.or(optional<V>): optional<V>', 'optional<V>.orValue(V): V'])
    .addAny([
      '_[?_](list<V>, int): optional<V>',
      '_[?_](optional<list<V>>, int): optional<V>',
      '_[?_](map<K, V>, K): optional<V>',
      '_[?_](optional<map<K, V>>, K): optional<V>',
      '_[_](optional<list<V>>, int): optional<V>',
      '_[_](optional<map<K, V>>, K): optional<V>',
    ]);
}

const OPTIONAL: Functions = {
  'optional.of(V): optional<V>': ([value], budget) => {
    budget.spend(1);
    return new Optional(value);
  },
  'optional.ofNonZeroValue(V): optional<V>': ([value = null], budget) => {
    budget.spend(1);
    return isZero(value) ? Optional.none : new Optional(value);
  },
  'optional.none(): optional<V>': (_, budget) => {
    budget.spend(1);
    return Optional.none;
  },
  'optional<V>.value(): V': ([optional], budget) => {
    budget.spend(1);
    const { value } = required(optional);
    if (value === undefined) throw new EvaluationFault('optional.none() dereference');
    return value;
  },
  'optional<V>.hasValue(): bool': ([optional], budget) => {
    budget.spend(1);
    return required(optional).value !== undefined;
  },
  'list<V>.first(): optional<V>': ([list], budget) => {
    budget.spend(1);
    return at(list, 0n);
  },
  'list<V>.last(): optional<V>': ([list], budget) => {
    budget.spend(1);
    return at(list, list instanceof List ? BigInt(list.items.length) - 1n : 0n);
  },
  'optional.unwrap(list<optional<V>>): list<V>': ([list], budget) => {
    budget.spend(1);
    return unwrapped(list);
  },
  'list<optional<V>>.unwrapOpt(): list<V>': ([list], budget) => {
    budget.spend(1);
    return unwrapped(list);
  },
};

function required(value: Value | undefined): Optional {
  if (value instanceof Optional) return value;
  throw noSuchOverload('a function of optional values');
}

function at(list: Value | undefined, index: bigint): Optional {
  if (!(list instanceof List) || list.items.length === 0) return Optional.none;
  return new Optional(list.get(index));
}

function unwrapped(list: Value | undefined): List {
  const items = list instanceof List ? list.items : [];
  return new List(
    items.flatMap((item) => {
      const { value } = required(item);
      return value === undefined ? [] : [value];
    }),
  );
}

function isZero(value: Value): boolean {
  if (value === null || value === '' || value === false || value === 0 || value === 0n) return true;
  // What wraps a list or a map of a claim does not know whether it is empty.
  if (value instanceof List) return !value.ofClaim && value.items.length === 0;
  if (value instanceof Dictionary) return !value.ofClaim && value.size === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  // Go's zero time is the first of January of the year 1.
  return value instanceof Timestamp && value.nanoseconds === -62_135_596_800_000_000_000n;
}
