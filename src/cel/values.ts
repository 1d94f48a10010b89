/**
 * The values of CEL. Strings, booleans, null, `number` (double) and `bigint` (int) are JavaScript's own. What
 * kube-apiserver wraps claims in is here too, since expressions can tell: names with `__dot__` in them, and
 * lists of Go strings, which it does not accept as groups.
 * https://github.com/google/cel-go/tree/master/common/types
 */
import { EvaluationFault } from './errors.ts';

export type Value =
  | null
  | boolean
  | string
  | number
  | bigint
  | Uint
  | Uint8Array
  | Duration
  | Timestamp
  | TypeValue
  | Optional
  | List
  | Dictionary
  | Root
  | Opaque;

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Duration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class Timestamp {
  /** Since the epoch. */
  readonly nanoseconds: bigint;
  /** The offset of the zone it was written in, in seconds east of UTC. */
  readonly offset: number;

  constructor(nanoseconds: bigint, offset = 0) {
    this.nanoseconds = nanoseconds;
    this.offset = offset;
  }
}

export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** A value of one of Kubernetes' libraries: an address, a version, … */
export class Opaque {
  readonly type: string;
  /** Two of one type are equal if this is. */
  readonly key: string;
  readonly data: unknown;

  constructor(type: string, key: string, data: unknown) {
    this.type = type;
    this.key = key;
    this.data = data;
  }
}

export class List {
  readonly items: readonly Value[];
  /** It is of a claim: names with `__dot__` are understood in what is read by index. */
  readonly ofClaim: boolean;
  /** It is a list of Go strings, as `split` makes them: kube-apiserver takes none for groups. */
  readonly ofGoStrings: boolean;

  constructor(items: readonly Value[], { ofClaim = false, ofGoStrings = false } = {}) {
    this.items = items;
    this.ofClaim = ofClaim;
    this.ofGoStrings = ofGoStrings;
  }

  /** @throws EvaluationFault out of its bounds */
  get(index: bigint): Value {
    const item = index < 0n ? undefined : this.items[Number(index)];
    if (item === undefined) throw new EvaluationFault('index out of range');
    return this.ofClaim ? asOfClaim(item) : item;
  }
}

/** A map of CEL. */
export class Dictionary {
  readonly #entries: ReadonlyMap<string, readonly [Value, Value]>;
  readonly ofClaim: boolean;

  constructor(entries: Iterable<readonly [Value, Value]>, ofClaim = false) {
    this.#entries = new Map([...entries].map((entry) => [keyOf(entry[0]), entry]));
    this.ofClaim = ofClaim;
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): readonly (readonly [Value, Value])[] {
    return [...this.#entries.values()];
  }

  keys(): readonly Value[] {
    return this.entries().map(([key]) => key);
  }

  /** As a field or by index. */
  find(key: Value): Value | undefined {
    if (!this.ofClaim) return this.lookUp(key);
    const name = typeof key === 'string' ? unescapedName(key) : undefined;
    const value = this.lookUp(name ?? key);
    return value === undefined ? undefined : asOfClaim(value);
  }

  /** By the key as it is; a number is the same number of another type. */
  lookUp(key: Value): Value | undefined {
    for (const name of keysLike(key)) {
      const entry = this.#entries.get(name);
      if (entry !== undefined) return entry[1];
    }
    return undefined;
  }

  asOfClaim(): Dictionary {
    return this.ofClaim ? this : new Dictionary(this.#entries.values(), true);
  }
}

/** `claims` or `user` itself: kube-apiserver's own kind of map, which knows neither a size nor `in`. */
export class Root {
  readonly type: string;
  readonly #members: ReadonlyMap<string, () => Value>;

  constructor(type: string, members: ReadonlyMap<string, () => Value>) {
    this.type = type;
    this.#members = members;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') throw new EvaluationFault('no such overload of an index');
    const name = unescaped(key);
    return name === undefined ? undefined : this.#members.get(name)?.();
  }

  /** What an iteration over it gives: its values, not its keys. */
  values(): readonly Value[] {
    return [...this.#members.keys()].map((name) => {
      const value = this.find(name);
      if (value === undefined) throw new EvaluationFault('no such key');
      return value;
    });
  }
}

export function asOfClaim(value: Value): Value {
  if (value instanceof List && !value.ofClaim)
    return new List(value.items, { ofClaim: true, ofGoStrings: value.ofGoStrings });
  return value instanceof Dictionary ? value.asOfClaim() : value;
}

/** @throws EvaluationFault for what cannot be a key */
function keyOf(value: Value): string {
  if (typeof value === 'string') return `s${value}`;
  if (typeof value === 'boolean') return `b${value}`;
  if (typeof value === 'bigint') return `i${value}`;
  if (typeof value === 'number') return `d${value}`;
  if (value instanceof Uint) return `u${value.value}`;
  if (value === null) return 'n';
  throw new EvaluationFault('a map has a key of another type');
}

function keysLike(key: Value): string[] {
  const number = integerOf(key);
  if (number !== undefined) return [...new Set([keyOf(key), `i${number}`, `u${number}`])];
  const simple = key === null || ['string', 'boolean', 'number'].includes(typeof key);
  return simple ? [keyOf(key)] : [];
}

/** A number that is an integer, whatever its type. */
export function integerOf(value: Value): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
}

/** @returns undefined for what has no size */
export function sizeOf(value: Value): number | undefined {
  if (typeof value === 'string') return lengthOf(value);
  if (value instanceof List) return value.items.length;
  if (value instanceof Dictionary) return value.size;
  return value instanceof Uint8Array ? value.length : undefined;
}

/** In code points. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const SYMBOLS: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' };
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** @returns the name meant; the same if nothing is escaped; undefined if an escape is none of those known */
function unescaped(name: string): string | undefined {
  let valid = true;
  const result = name.replaceAll(/__[^_]+__/g, (sequence) => {
    const content = sequence.slice(2, -2);
    const symbol = Object.hasOwn(SYMBOLS, content) ? SYMBOLS[content] : undefined;
    if (symbol !== undefined) return symbol;
    if (!RESERVED.has(content) || sequence.length !== name.length) valid = false;
    return content;
  });
  return valid ? result : undefined;
}

/** @returns undefined if nothing is escaped, or wrongly */
function unescapedName(name: string): string | undefined {
  const result = unescaped(name);
  return result === name ? undefined : result;
}
