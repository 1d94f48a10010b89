/**
 * The types of CEL as its type-checker sees them, and which may stand for which: the rules of cel-go, in
 * which a claim's type (`any`) may be anything but the range of a comprehension.
 * https://github.com/google/cel-go/blob/master/checker/types.go
 */

export interface Type {
  readonly kind: 'simple' | 'dyn' | 'any' | 'null' | 'list' | 'map' | 'type' | 'opaque' | 'struct' | 'param';
  /** Without its parameters, as it is called when the expression runs. */
  readonly name: string;
  readonly of: readonly Type[];
}

const simple = (name: string): Type => ({ kind: 'simple', name, of: [] });

export const BOOL = simple('bool');
export const BYTES = simple('bytes');
export const DOUBLE = simple('double');
export const INT = simple('int');
export const STRING = simple('string');
export const UINT = simple('uint');
export const DURATION = simple('google.protobuf.Duration');
export const TIMESTAMP = simple('google.protobuf.Timestamp');
export const NULL: Type = { kind: 'null', name: 'null_type', of: [] };
export const DYN: Type = { kind: 'dyn', name: 'dyn', of: [] };
/** The type of a claim. */
export const ANY: Type = { kind: 'any', name: 'any', of: [] };

export const listOf = (element: Type): Type => ({ kind: 'list', name: 'list', of: [element] });
export const mapOf = (key: Type, value: Type): Type => ({ kind: 'map', name: 'map', of: [key, value] });
export const typeOf = (type: Type): Type => ({ kind: 'type', name: 'type', of: [type] });
export const optionalOf = (value: Type): Type => ({ kind: 'opaque', name: 'optional_type', of: [value] });
export const struct = (name: string): Type => ({ kind: 'struct', name, of: [] });
export const param = (name: string): Type => ({ kind: 'param', name, of: [] });

export function isOptional(type: Type): boolean {
  return type.kind === 'opaque' && type.name === 'optional_type';
}

/** `optional_type(T)` is T, anything else is itself. */
export function unwrapped(type: Type): Type {
  return (isOptional(type) ? type.of[0] : undefined) ?? type;
}

export function isDyn(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'any';
}

/** @param byName whether type parameters must have the same name */
export function isSame(a: Type, b: Type, byName = true): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.of.length !== b.of.length) return false;
  if ((byName || a.kind !== 'param') && a.name !== b.name) return false;
  return a.of.every((type, index) => isSame(type, b.of[index] ?? DYN, byName));
}

export function describe(type: Type): string {
  return type.of.length === 0 ? type.name : `${type.name}(${type.of.map(describe).join(', ')})`;
}

/** What type parameters stand for. */
export class Substitutions {
  readonly #known: Map<string, Type>;

  constructor(known: ReadonlyMap<string, Type> = new Map()) {
    this.#known = new Map(known);
  }

  copy(): Substitutions {
    return new Substitutions(this.#known);
  }

  add(name: string, type: Type): void {
    this.#known.set(name, type);
  }

  /** @param unboundIsDyn whether a parameter that stands for nothing yet is `dyn` */
  apply(type: Type, unboundIsDyn = false): Type {
    if (type.kind === 'param') {
      const found = this.#known.get(type.name);
      if (found !== undefined) return this.apply(found, unboundIsDyn);
      return unboundIsDyn ? DYN : type;
    }
    if (type.of.length === 0) return type;
    return { ...type, of: type.of.map((each) => this.apply(each, unboundIsDyn)) };
  }

  /** Whether `a` may stand for `b`; binds parameters on the way, also if it may not. */
  assign(a: Type, b: Type): boolean {
    if (b.kind === 'param') {
      const { valid, bound } = this.#bind(a, b);
      if (valid || bound) return valid;
    }
    if (a.kind === 'param') return this.#bind(b, a).valid;
    if (isDyn(a) || isDyn(b)) return true;
    if (a.kind === 'null') return isNullable(b);
    if (b.kind === 'null') return isNullable(a);
    if (a.kind === 'type') return b.kind === 'type';
    return a.kind === b.kind && a.name === b.name && this.assignAll(a.of, b.of);
  }

  assignAll(a: readonly Type[], b: readonly Type[]): boolean {
    return a.length === b.length && a.every((type, index) => this.assign(type, b[index] ?? DYN));
  }

  #bind(type: Type, parameter: Type): { readonly valid: boolean; readonly bound: boolean } {
    if (isSame(type, parameter)) return { valid: true, bound: true };
    const known = this.#known.get(parameter.name);
    if (known === undefined) {
      const valid = this.#isFree(parameter, type);
      if (valid) this.add(parameter.name, type);
      return { valid, bound: false };
    }
    if (isSame(type, known)) return { valid: true, bound: true };
    if (!this.assign(type, known)) return { valid: false, bound: true };
    const general = mostGeneral(type, known);
    if (this.#isFree(parameter, general)) this.add(parameter.name, general);
    return { valid: true, bound: true };
  }

  /** Whether the parameter does not occur in the type. */
  #isFree(parameter: Type, within: Type): boolean {
    if (isSame(parameter, within)) return false;
    if (within.kind === 'param') {
      const known = this.#known.get(within.name);
      return known === undefined || this.#isFree(parameter, known);
    }
    return within.of.every((type) => this.#isFree(parameter, type));
  }
}

export function mostGeneral(a: Type, b: Type): Type {
  return isEqualOrLessSpecific(a, b) ? a : b;
}

function isEqualOrLessSpecific(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === 'param') return true;
  if (isDyn(b) || b.kind === 'param') return false;
  if (a.kind !== b.kind) return false;
  if (a.kind === 'type') return true;
  if (a.name !== b.name || a.of.length !== b.of.length) return false;
  return a.of.every((type, index) => isEqualOrLessSpecific(type, b.of[index] ?? DYN));
}

function isNullable({ kind, name }: Type): boolean {
  if (kind === 'opaque' || kind === 'struct' || kind === 'null') return true;
  return name === DURATION.name || name === TIMESTAMP.name;
}
