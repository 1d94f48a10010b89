/**
 * The functions on lists and sets of cel-go and of Kubernetes, and those that macros of maps expand into.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library;
 * https://pkg.go.dev/github.com/google/cel-go/ext#Lists
 */
import type { Declarations, Functions, Run } from './declarations.ts';
import { type Budget, EvaluationFault, noSuchOverload } from './errors.ts';
import { add, compare, contains, equalsIn, isComparable, runtimeType } from './operators.ts';
import { Dictionary, Duration, List, Uint, type Value } from './values.ts';

const ORDERED = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'];

export function declareLists(declarations: Declarations): void {
  declarations.add(LISTS).add(SETS).addUnguarded(FLATTEN).add(SUMS);
  for (const type of ORDERED) {
    declarations.add({
      [`list<${type}>.isSorted(): bool`]: traversing(isSorted),
      [`list<${type}>.max(): ${type}`]: traversing((items) => extreme(items, -1)),
      [`list<${type}>.min(): ${type}`]: traversing((items) => extreme(items, 1)),
    });
  }
  declarations.addAny(
    ORDERED.map((type) => `list<${type}>.sort(): list<${type}>`),
    ([list], budget) => sorted(list, list, budget),
  );
  declarations.addAny(
    ORDERED.map((type) => `list<T>.@sortByAssociatedKeys(list<${type}>): list<T>`),
    ([list, keys], budget) => sorted(list, keys, budget),
  );
}

function itemsOf(value: Value | undefined): readonly Value[] {
  if (value instanceof List) return value.items;
  throw noSuchOverload('a function of lists');
}

function traversing(run: (items: readonly Value[], rest: readonly Value[]) => Value): Run {
  return ([list, ...rest], budget) => {
    const items = itemsOf(list);
    budget.spend(
      items.reduce<number>(
        (sum, item) => sum + 1 + (typeof item === 'string' ? Math.ceil(item.length / 10) : 0),
        0,
      ),
    );
    return run(items, rest);
  };
}

/** An order that there is none for counts as one that is right, as kube-apiserver has it. */
function order(a: Value, b: Value): number {
  try {
    return compare(a, b);
  } catch (error) {
    if (error instanceof EvaluationFault) return 0;
    throw error;
  }
}

function isSorted(items: readonly Value[]): boolean {
  for (const item of items) requireComparable(item);
  return items.every((item, index) => index === 0 || order(items[index - 1] ?? null, item) <= 0);
}

function extreme(items: readonly Value[], preferred: number): Value {
  const [first] = items;
  if (first === undefined) throw new EvaluationFault('min() or max() of an empty list');
  for (const item of items) requireComparable(item);
  return items.slice(1).reduce((best, item) => (order(best, item) === preferred ? item : best), first);
}

function requireComparable(value: Value): void {
  if (!isComparable(value)) throw noSuchOverload('a function of lists that can be ordered');
}

function summed(zero: Value): Run {
  return traversing((items) => items.reduce((sum, item) => add(sum, item), zero));
}

const SUMS: Functions = {
  'list<int>.sum(): int': summed(0n),
  'list<uint>.sum(): uint': summed(new Uint(0n)),
  'list<double>.sum(): double': summed(0),
  'list<duration>.sum(): duration': summed(new Duration(0n)),
};

function sorted(list: Value | undefined, keys: Value | undefined, budget: Budget): Value {
  const items = itemsOf(list);
  const ranks = itemsOf(keys);
  if (items.length !== ranks.length) throw new EvaluationFault('sort() has keys of another number');
  spendOnPairs(ranks, budget);
  const [first] = ranks;
  if (first === undefined || list === undefined) return list ?? null;
  requireComparable(first);
  const type = runtimeType(first);
  if (items.length > 1 && ranks.some((key) => runtimeType(key) !== type))
    throw new EvaluationFault('list elements must have the same type');
  const indexes = [...items.keys()].toSorted((a, b) => order(ranks[a] ?? null, ranks[b] ?? null));
  return new List(indexes.map((index) => items[index] ?? null));
}

function spendOnPairs(items: readonly Value[], budget: Budget): void {
  const factor = typeof items[0] === 'string' ? 2.1 : 2;
  budget.spend(Math.floor(items.length ** 2 * factor) + 11);
}

function made(items: readonly Value[], budget: Budget): List {
  budget.spend(items.length + 11);
  return new List(items);
}

const LISTS: Functions = {
  'list<A>.indexOf(A): int': traversing((items, [value = null]) =>
    BigInt(items.findIndex((item) => equalsIn(item, value))),
  ),
  'list<A>.lastIndexOf(A): int': traversing((items, [value = null]) =>
    BigInt(items.findLastIndex((item) => equalsIn(item, value))),
  ),
  'list<T>.slice(int, int): list<T>': ([list, start, end], budget) => {
    const items = itemsOf(list);
    const [from, to] = [Number(start), Number(end)];
    if (from < 0 || to < 0 || from > to || to > items.length) throw new EvaluationFault('index out of range');
    return made(items.slice(from, to), budget);
  },
  'list<T>.reverse(): list<T>': ([list], budget) => made(itemsOf(list).toReversed(), budget),
  'list<T>.distinct(): list<T>': ([list], budget) => distinct(list, budget),
  'lists.range(int): list<int>': ([end], budget) => {
    const length = Math.max(0, Number(end));
    budget.spend(length + 11);
    return new List(Array.from({ length }, (_, index) => BigInt(index)));
  },
  'cel.@mapInsert(map<K, V>, K, V): map<K, V>': ([map, key = null, value = null], budget) => {
    budget.spend(1);
    return inserted(map, [[key, value]]);
  },
  'cel.@mapInsert(map<K, V>, map<K, V>): map<K, V>': ([map, more], budget) => {
    budget.spend(1);
    return inserted(map, more instanceof Dictionary ? more.entries() : []);
  },
};

/** An empty list is returned as it is, with what it is of. */
function distinct(list: Value | undefined, budget: Budget): Value {
  const items = itemsOf(list);
  spendOnPairs(items, budget);
  if (list instanceof List && items.length === 0) return list;
  return new List(
    items.reduce<Value[]>((found, item) => {
      if (!found.some((other) => equalsIn(item, other))) found.push(item);
      return found;
    }, []),
  );
}

function inserted(map: Value | undefined, entries: readonly (readonly [Value, Value])[]): Dictionary {
  if (!(map instanceof Dictionary)) throw noSuchOverload('a function of maps');
  for (const [key] of entries)
    if (map.lookUp(key) !== undefined) throw new EvaluationFault('insert failed: key already exists');
  return new Dictionary([...map.entries(), ...entries]);
}

function flattened(items: readonly Value[], depth: number): Value[] {
  return items.flatMap((item) =>
    item instanceof List && depth > 0 ? flattened(item.items, depth - 1) : [item],
  );
}

const FLATTEN: Functions = {
  'list<list<T>>.flatten(): list<T>': ([list], budget) => made(flattened(itemsOf(list), 1), budget),
  'list<dyn>.flatten(int): list<dyn>': ([list, depth], budget) => {
    if (typeof depth !== 'bigint') throw noSuchOverload('flatten');
    if (depth < 0n) throw new EvaluationFault('level must be non-negative');
    budget.spend(itemsOf(list).length * Number(depth));
    return made(flattened(itemsOf(list), Number(depth)), budget);
  },
};

function onSets(factor: number, run: (a: List, b: List) => boolean): Run {
  return ([a, b], budget) => {
    if (!(a instanceof List && b instanceof List)) throw noSuchOverload('a function of sets');
    budget.spend(1 + a.items.length * b.items.length * factor);
    return run(a, b);
  };
}

function hasAll(list: List, part: List): boolean {
  return part.items.every((item) => contains(list, item));
}

const SETS: Functions = {
  'sets.contains(list<T>, list<T>): bool': onSets(1, hasAll),
  'sets.equivalent(list<T>, list<T>): bool': onSets(2, (a, b) => hasAll(a, b) && hasAll(b, a)),
  'sets.intersects(list<T>, list<T>): bool': onSets(1, (a, b) => a.items.some((item) => contains(b, item))),
};
