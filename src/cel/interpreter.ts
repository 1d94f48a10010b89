/**
 * Evaluates a checked expression as cel-go does: a failed part is an error, until an operator that does not
 * need the part absorbs it.
 * https://github.com/google/cel-go/tree/master/interpreter
 */
import type { Call, Comprehension, Ident, ListLiteral, Node, Select } from './ast.ts';
import type { Checked, Resolved } from './declarations.ts';
import { type Budget, EvaluationFault, noSuchOverload } from './errors.ts';
import {
  type Attribute,
  type Bound,
  fits,
  itemsOf,
  member,
  noSuchKey,
  optionalItems,
  pairsOf,
  plain,
  type Qualifier,
  required,
} from './members.ts';
import { equalsIn, isEqual } from './operators.ts';
import { Dictionary, List, Optional, TypeValue, type Value } from './values.ts';

/** Names within each other, the nearest first. */
interface Scope {
  readonly name: string;
  value: Bound;
  readonly outer: Scope | undefined;
}

export function evaluate(root: Node, checked: Checked, name: string, value: Value, budget: Budget): Value {
  return new Interpreter(checked, budget).evaluate(root, { name, value, outer: undefined });
}

/** What needs no name can be evaluated when it is compiled. */
export function evaluateConstant(node: Node, checked: Checked, budget: Budget): Value {
  return new Interpreter(checked, budget).evaluate(node, undefined);
}

class Interpreter {
  readonly #checked: Checked;
  readonly #budget: Budget;

  constructor(checked: Checked, budget: Budget) {
    this.#checked = checked;
    this.#budget = budget;
  }

  evaluate(node: Node, scope: Scope | undefined): Value {
    switch (node.kind) {
      case 'literal':
        return node.value;
      case 'ident':
        this.#budget.spend(1);
        return this.#name(node, scope);
      case 'select':
        return this.#attributeValue(node, scope);
      case 'call':
        return this.#call(node, scope);
      case 'list':
        this.#budget.spend(10);
        return new List(this.#elements(node.elements, scope));
      case 'map':
        this.#budget.spend(30);
        return new Dictionary(this.#entries(node.entries, scope));
      case 'comprehension':
        return this.#comprehension(node, scope);
    }
  }

  #elements(
    elements: readonly { readonly value: Node; readonly optional: boolean }[],
    scope: Scope | undefined,
  ): readonly Value[] {
    return elements.flatMap(({ value, optional }) => {
      const element = this.evaluate(value, scope);
      return optional ? optionalItems(element) : [element];
    });
  }

  #entries(
    entries: readonly { readonly key: Node; readonly value: Node; readonly optional: boolean }[],
    scope: Scope | undefined,
  ): readonly (readonly [Value, Value])[] {
    return entries.flatMap(({ key, value, optional }) => {
      const name = this.evaluate(key, scope);
      const given = this.evaluate(value, scope);
      return (optional ? optionalItems(given) : [given]).map((each) => [name, each] as const);
    });
  }

  #name(node: Ident | Select, scope: Scope | undefined): Value {
    const name = this.#checked.names.get(node) ?? (node.kind === 'ident' ? node.name : '');
    for (let current = scope; current !== undefined; current = current.outer) {
      if (current.name !== name) continue;
      if (current.value instanceof EvaluationFault) throw current.value;
      return current.value;
    }
    const { of } = this.#checked.typeOf(node);
    return new TypeValue(of[0]?.name ?? name);
  }

  #attributeValue(node: Select | Call, scope: Scope | undefined): Value {
    if (node.kind === 'select' && node.test) return this.#has(node, scope);
    const { value, optional } = this.#attribute(node, scope);
    if (optional) return new Optional(value);
    if (value === undefined) throw new EvaluationFault('no such key');
    return value;
  }

  #has({ operand, field }: Select, scope: Scope | undefined): boolean {
    const { value } = this.#attribute(operand, scope);
    this.#budget.spend(1);
    return value !== undefined && member(value, field, true) !== undefined;
  }

  #attribute(node: Node, scope: Scope | undefined): Attribute {
    if (node.kind === 'select' && !node.test) {
      if (this.#checked.names.has(node)) return { value: this.#name(node, scope), optional: false };
      return this.#qualified(node.operand, scope, {
        key: () => node.field,
        optional: false,
        field: node.field,
      });
    }
    if (node.kind === 'call' && INDEXES.has(node.name)) {
      const [operand, index] = node.args;
      if (operand === undefined || index === undefined) throw noSuchOverload(node.name);
      const key = () => this.evaluate(index, scope);
      return this.#qualified(operand, scope, { key, optional: node.name !== '_[_]' });
    }
    const value = this.evaluate(node, scope);
    if (!(value instanceof Optional)) return { value, optional: false };
    return { value: value.value === undefined ? undefined : plain(value.value), optional: true };
  }

  #qualified(operand: Node, scope: Scope | undefined, { key, optional, field }: Qualifier): Attribute {
    const from = this.#attribute(operand, scope);
    if (from.optional && from.value === undefined) return from;
    this.#budget.spend(1);
    const lenient = optional || from.optional;
    if (from.value === undefined) throw new EvaluationFault('no such key');
    const value = member(from.value, key(), lenient);
    if (value === undefined && !lenient) throw noSuchKey(operand, field);
    return { value, optional: lenient };
  }

  #call(node: Call, scope: Scope | undefined): Value {
    const [first, second, third] = node.args;
    switch (node.name) {
      case '_[_]':
      case '_[?_]':
      case '_?._':
        return this.#attributeValue(node, scope);
      case '_&&_':
        return this.#logical(node.args, false, scope);
      case '_||_':
        return this.#logical(node.args, true, scope);
      case '_?_:_':
        return this.#conditional(required(first), required(second), required(third), scope);
      case '@not_strictly_false':
        return this.#attempt(required(first), scope) !== false;
      default:
        return this.#function(node, scope);
    }
  }

  #logical(terms: readonly Node[], decisive: boolean, scope: Scope | undefined): boolean {
    let fault: EvaluationFault | undefined;
    for (const term of terms) {
      const value = this.#attempt(term, scope);
      if (value === decisive) return decisive;
      if (value instanceof EvaluationFault) fault ??= value;
      else if (typeof value !== 'boolean') fault ??= noSuchOverload('a logical operator');
    }
    if (fault !== undefined) throw fault;
    return !decisive;
  }

  #conditional(condition: Node, truthy: Node, falsy: Node, scope: Scope | undefined): Value {
    const value = this.evaluate(condition, scope);
    if (typeof value !== 'boolean') throw noSuchOverload('_?_:_');
    return this.evaluate(value ? truthy : falsy, scope);
  }

  #attempt(node: Node, scope: Scope | undefined): Bound {
    try {
      return this.evaluate(node, scope);
    } catch (error) {
      if (error instanceof EvaluationFault) return error;
      throw error;
    }
  }

  #function(node: Call, scope: Scope | undefined): Value {
    const resolved = this.#checked.calls.get(node);
    if (resolved === undefined) throw noSuchOverload(node.name);
    const { target } = node;
    const nodes = target === undefined || resolved.namespaced ? node.args : [target, ...node.args];
    if (node.name === 'or' || node.name === 'orValue') return this.#alternative(node.name, nodes, scope);
    const args = nodes.map((arg) => this.evaluate(arg, scope));
    if (node.name === '_==_' || node.name === '_!=_') return this.#equality(node.name, args);
    return this.#run(resolved, args);
  }

  #equality(name: string, [left = null, right = null]: readonly Value[]): boolean {
    this.#budget.spend(1);
    return name === '_==_' ? isEqual(left, right) : !equalsIn(left, right);
  }

  #alternative(name: string, [first, second]: readonly Node[], scope: Scope | undefined): Value {
    const value = this.evaluate(required(first), scope);
    // As in cel-go: what is no optional is a value.
    if (!(value instanceof Optional)) return value;
    if (value.value === undefined) return this.evaluate(required(second), scope);
    return name === 'or' ? value : value.value;
  }

  #run({ declaration, overloads }: Resolved, args: readonly Value[]): Value {
    const { any, unguarded, name } = declaration;
    if (any !== undefined) return any(args, this.#budget);
    const candidates = overloads.length === 1 ? overloads : declaration.overloads;
    const overload = candidates.find((each) => fits(each, args, unguarded));
    if (overload?.run === undefined) throw noSuchOverload(name);
    return overload.run(args, this.#budget);
  }

  #comprehension(node: Comprehension, scope: Scope | undefined): Value {
    const range = this.evaluate(node.range, scope);
    const items = node.variable2 === undefined ? itemsOf(range) : pairsOf(range);
    const collector = collectorOf(node);
    if (collector !== undefined) return this.#collected(node, collector, items, scope);
    const accumulator: Scope = {
      name: node.accumulator,
      value: this.#attempt(node.init, scope),
      outer: scope,
    };
    for (const [first, second] of items) {
      const inner: Scope = { name: node.variable, value: first, outer: accumulator };
      const { variable2 } = node;
      const each = variable2 === undefined ? inner : { name: variable2, value: second, outer: inner };
      if (this.#attempt(node.condition, each) === false) break;
      accumulator.value = this.#attempt(node.step, each);
    }
    return this.evaluate(node.result, accumulator);
  }

  /** The same for what `map` and `filter` make, without a copy of the list for each element. */
  #collected(
    node: Comprehension,
    { filter, elements }: Collector,
    items: ReturnType<typeof itemsOf>,
    scope: Scope | undefined,
  ): List {
    const collected: Value[] = [];
    for (const [first, second] of items) {
      const inner: Scope = { name: node.variable, value: first, outer: scope };
      const { variable2 } = node;
      const each = variable2 === undefined ? inner : { name: variable2, value: second, outer: inner };
      const isWanted = filter === undefined || this.evaluate(filter, each);
      if (typeof isWanted !== 'boolean') throw new EvaluationFault('no such overload');
      if (isWanted) collected.push(...this.#elements(elements, each));
    }
    return new List(collected);
  }
}

/** How a comprehension makes a list, element by element. */
interface Collector {
  readonly filter: Node | undefined;
  readonly elements: ListLiteral['elements'];
}

/** @returns undefined if it does anything else */
function collectorOf({ init, condition, step, result, accumulator }: Comprehension): Collector | undefined {
  const isAccumulator = (node: Node | undefined) => node?.kind === 'ident' && node.name === accumulator;
  const isPlain = condition.kind === 'literal' && condition.value === true && isAccumulator(result);
  if (!isPlain || init.kind !== 'list' || init.elements.length > 0 || step.kind !== 'call') return undefined;
  const [filter, added, otherwise] = step.name === '_?_:_' && isAccumulator(step.args[2]) ? step.args : [];
  const sum = otherwise === undefined ? step : added;
  if (sum?.kind !== 'call' || sum.name !== '_+_' || !isAccumulator(sum.args[0])) return undefined;
  const element = sum.args[1];
  return element?.kind === 'list' ? { filter, elements: element.elements } : undefined;
}

const INDEXES = new Set(['_[_]', '_[?_]', '_?._']);
