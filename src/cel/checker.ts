/**
 * Type-checks an expression as cel-go does, so that what kube-apiserver refuses to load is refused here.
 * https://github.com/google/cel-go/blob/master/checker/checker.go
 */
import {
  type Call,
  type Comprehension,
  type ListLiteral,
  type MapLiteral,
  type Node,
  qualifiedName,
  type Select,
} from './ast.ts';
import type { Checked, Environment, Overload, Resolved } from './declarations.ts';
import { SyntaxFault } from './errors.ts';
import type { Type } from './types.ts';
import * as types from './types.ts';
import type { Value } from './values.ts';

/** @throws SyntaxFault for what does not fit together */
export function check(root: Node, environment: Environment): Checked {
  return new Checker(environment).whole(root);
}

class Checker {
  readonly #environment: Environment;
  readonly #types = new Map<Node, Type>();
  readonly #calls = new Map<Node, Resolved>();
  readonly #names = new Map<Node, string>();
  #scopes: ReadonlyMap<string, Type>[];
  #substitutions = new types.Substitutions();
  #free = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#scopes = [environment.variables];
  }

  whole(root: Node): Checked {
    this.#check(root);
    const typeOf = (node: Node) => this.#substitutions.apply(this.#types.get(node) ?? types.DYN, true);
    return { type: typeOf(root), typeOf, calls: this.#calls, names: this.#names };
  }

  #check(node: Node): Type {
    const type = this.#typeOf(node);
    this.#types.set(node, type);
    return type;
  }

  #typeOf(node: Node): Type {
    switch (node.kind) {
      case 'literal':
        return typeOfLiteral(node.value);
      case 'ident':
        return this.#name(node, node.name) ?? fail(`undeclared reference to '${node.name}'`, node);
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'list':
        return this.#list(node);
      case 'map':
        return this.#map(node);
      case 'comprehension':
        return this.#comprehension(node);
    }
  }

  #name(node: Node, name: string): Type | undefined {
    for (const scope of this.#scopes.toReversed()) {
      const found = scope.get(name);
      if (found !== undefined) {
        this.#names.set(node, name);
        return found;
      }
    }
    const type = this.#environment.typeNames.get(name);
    if (type === undefined) return undefined;
    this.#names.set(node, name);
    return types.typeOf(type);
  }

  #select(node: Select): Type {
    const name = qualifiedName(node);
    const known = name === undefined ? undefined : this.#name(node, name);
    if (known !== undefined) return known;
    const type = this.#field(node, node.operand, node.field, false);
    return node.test ? types.BOOL : this.#substitutions.apply(type);
  }

  #field(node: Node, operand: Node, field: string, optional: boolean): Type {
    const found = this.#substitutions.apply(this.#check(operand));
    const target = types.unwrapped(found);
    const type = this.#fieldOf(node, target, field);
    return optional || types.isOptional(found) ? types.optionalOf(type) : type;
  }

  #fieldOf(node: Node, target: Type, field: string): Type {
    if (target.kind === 'map') return target.of[1] ?? types.DYN;
    if (target.kind === 'struct') {
      const type = this.#environment.fields.get(target.name)?.get(field);
      return type ?? fail(`undefined field '${field}'`, node);
    }
    if (target.kind === 'param') this.#assign(types.DYN, target);
    else if (!types.isDyn(target))
      fail(`type '${types.describe(target)}' does not support field selection`, node);
    return types.DYN;
  }

  #call(node: Call): Type {
    if (node.name === '_?._') return this.#optionalSelect(node);
    const args = node.args.map((arg) => this.#check(arg));
    if (node.target === undefined) return this.#resolve(node, node.name, args, false, false);
    const prefix = qualifiedName(node.target);
    const qualified = prefix === undefined ? undefined : `${prefix}.${node.name}`;
    if (qualified !== undefined && this.#environment.functions.has(qualified))
      return this.#resolve(node, qualified, args, false, true);
    return this.#resolve(node, node.name, [this.#check(node.target), ...args], true, false);
  }

  #optionalSelect(node: Call): Type {
    const [operand, field] = node.args;
    if (operand === undefined || field?.kind !== 'literal' || typeof field.value !== 'string')
      return fail('unsupported optional field selection', node);
    return this.#substitutions.apply(this.#field(node, operand, field.value, true));
  }

  #resolve(node: Call, name: string, args: readonly Type[], member: boolean, namespaced: boolean): Type {
    const declaration = this.#environment.functions.get(name);
    if (declaration === undefined) return fail(`undeclared reference to '${name}'`, node);
    const overloads: Overload[] = [];
    let result: Type | undefined;
    for (const overload of declaration.overloads.filter((each) => each.member === member)) {
      const fresh = this.#fresh(overload);
      if (!this.#assignAll(args, fresh.args)) continue;
      overloads.push(overload);
      const type = this.#substitutions.apply(fresh.result);
      if (result === undefined) result = type;
      else if (!types.isDyn(result) && !types.isSame(type, result)) result = types.DYN;
    }
    if (result === undefined) {
      const given = args.map((type) => types.describe(this.#substitutions.apply(type, true)));
      return fail(`found no matching overload for '${name}' applied to (${given.join(', ')})`, node);
    }
    this.#calls.set(node, { declaration, overloads, namespaced });
    return result;
  }

  /** Gives each use of an overload type parameters of its own. */
  #fresh({ args, result, params }: Overload): { readonly args: readonly Type[]; readonly result: Type } {
    if (params.length === 0) return { args, result };
    const own = new types.Substitutions();
    for (const name of params) own.add(name, this.#parameter());
    return { args: args.map((arg) => own.apply(arg)), result: own.apply(result) };
  }

  #list({ elements }: ListLiteral): Type {
    let joined: Type | undefined;
    for (const { value, optional } of elements) {
      const type = this.#check(value);
      joined = this.#join(joined, optional ? this.#optionalValue(value, type) : type);
    }
    return types.listOf(joined ?? this.#parameter());
  }

  #map({ entries }: MapLiteral): Type {
    let keys: Type | undefined;
    let values: Type | undefined;
    for (const { key, value, optional } of entries) {
      keys = this.#join(keys, this.#check(key));
      const type = this.#check(value);
      values = this.#join(values, optional ? this.#optionalValue(value, type) : type);
    }
    return types.mapOf(keys ?? this.#parameter(), values ?? this.#parameter());
  }

  #optionalValue(node: Node, type: Type): Type {
    if (!types.isOptional(type) && !types.isDyn(type)) return fail('expected an optional value', node);
    return types.unwrapped(type);
  }

  /** The common type, or dyn if there is none: literals that may not be mixed are checked later. */
  #join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    return this.#assign(previous, current) ? types.mostGeneral(previous, current) : types.DYN;
  }

  #comprehension(node: Comprehension): Type {
    this.#check(node.range);
    const accumulator = this.#check(node.init);
    const range = this.#substitutions.apply(this.#types.get(node.range) ?? types.DYN);
    const [first, second] = this.#variables(node, range);
    this.#scopes.push(new Map([[node.accumulator, accumulator]]));
    const { variable2 } = node;
    const second2: [string, Type][] = variable2 === undefined ? [] : [[variable2, second]];
    this.#scopes.push(new Map([[node.variable, first], ...second2]));
    this.#require(node.condition, types.BOOL);
    this.#require(node.step, accumulator);
    this.#scopes.pop();
    const result = this.#check(node.result);
    this.#scopes.pop();
    return this.#substitutions.apply(result);
  }

  #variables(node: Comprehension, range: Type): readonly [Type, Type] {
    const two = node.variable2 !== undefined;
    const [first = types.DYN, second = types.DYN] = range.of;
    if (range.kind === 'list') return two ? [types.INT, first] : [first, types.DYN];
    if (range.kind === 'map') return [first, second];
    if (range.kind !== 'dyn' && range.kind !== 'param')
      return fail(`type '${types.describe(range)}' cannot be the range of a comprehension`, node.range);
    this.#assign(types.DYN, range);
    return [types.DYN, types.DYN];
  }

  #require(node: Node, type: Type): void {
    const found = this.#check(node);
    if (this.#assign(type, found)) return;
    fail(`expected type '${types.describe(type)}' but found '${types.describe(found)}'`, node);
  }

  #assign(a: Type, b: Type): boolean {
    return this.#assignAll([a], [b]);
  }

  /** Binds type parameters only if all types fit. */
  #assignAll(a: readonly Type[], b: readonly Type[]): boolean {
    const attempt = this.#substitutions.copy();
    if (!attempt.assignAll(a, b)) return false;
    this.#substitutions = attempt;
    return true;
  }

  #parameter(): Type {
    this.#free += 1;
    return types.param(`_var${this.#free}`);
  }
}

function fail(message: string, { at }: Node): never {
  throw new SyntaxFault(message, at);
}

function typeOfLiteral(value: Value): Type {
  if (value === null) return types.NULL;
  switch (typeof value) {
    case 'boolean':
      return types.BOOL;
    case 'string':
      return types.STRING;
    case 'number':
      return types.DOUBLE;
    case 'bigint':
      return types.INT;
    default:
      return value instanceof Uint8Array ? types.BYTES : types.UINT;
  }
}
