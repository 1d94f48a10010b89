/**
 * The macros of CEL that Kubernetes switches on: the standard ones, those of optional values, of two
 * variables, and `sortBy`. `cel.bind` is not among them. Each is expanded into the same comprehension as in
 * cel-go.
 * https://github.com/google/cel-spec/blob/master/doc/langdef.md#macros
 */
import type { Node } from './ast.ts';
import { SyntaxFault } from './errors.ts';

const ACCUMULATOR = '@result';

type Expand = (target: Node, args: readonly Node[], at: number) => Node;

/** @returns undefined if this is the call of a function */
export function expandMacro(
  name: string,
  target: Node | undefined,
  args: readonly Node[],
  at: number,
): Node | undefined {
  if (target === undefined) return name === 'has' && args.length === 1 ? presence(args[0], at) : undefined;
  return MACROS.get(`${name}/${args.length}`)?.(target, args, at);
}

function presence(arg: Node | undefined, at: number): Node {
  if (arg?.kind !== 'select') throw new SyntaxFault('invalid argument to has() macro', at);
  return { ...arg, test: true };
}

const MACROS: ReadonlyMap<string, Expand> = new Map<string, Expand>([
  ['all/2', quantifier(allOf)],
  ['all/3', quantifier(allOf)],
  ['exists/2', quantifier(someOf)],
  ['exists/3', quantifier(someOf)],
  ['exists_one/2', quantifier(oneOf)],
  ['exists_one/3', quantifier(oneOf)],
  ['existsOne/3', quantifier(oneOf)],
  ['map/2', (target, [variable, step], at) => collected(target, [variable], undefined, step, at)],
  ['map/3', (target, [variable, filter, step], at) => collected(target, [variable], filter, step, at)],
  ['filter/2', (target, [variable, filter], at) => collected(target, [variable], filter, variable, at)],
  ['transformList/3', (target, [a, b, step], at) => collected(target, [a, b], undefined, step, at)],
  ['transformList/4', (target, [a, b, filter, step], at) => collected(target, [a, b], filter, step, at)],
  ['transformMap/3', (target, [a, b, step], at) => inserted(target, [a, b], undefined, [a, step], at)],
  ['transformMap/4', (target, [a, b, filter, step], at) => inserted(target, [a, b], filter, [a, step], at)],
  ['transformMapEntry/3', (target, [a, b, step], at) => inserted(target, [a, b], undefined, [step], at)],
  ['transformMapEntry/4', (target, [a, b, filter, step], at) => inserted(target, [a, b], filter, [step], at)],
  ['optMap/2', (target, args, at) => withValue(target, args, at, (value) => call('optional.of', at, value))],
  ['optFlatMap/2', (target, args, at) => withValue(target, args, at, (value) => value)],
  ['sortBy/2', sortBy],
]);

interface Fold {
  readonly init: Node;
  readonly condition: Node;
  readonly step: Node;
  readonly result: Node;
}

function quantifier(fold: (predicate: Node, at: number) => Fold): Expand {
  return (target, args, at) => {
    const variables = args.slice(0, -1);
    return {
      kind: 'comprehension',
      at,
      range: target,
      ...named(variables, at),
      ...fold(given(args.at(-1), at), at),
    };
  };
}

function allOf(predicate: Node, at: number): Fold {
  return {
    init: literal(true, at),
    condition: call('@not_strictly_false', at, accumulator(at)),
    step: call('_&&_', at, accumulator(at), predicate),
    result: accumulator(at),
  };
}

function someOf(predicate: Node, at: number): Fold {
  return {
    init: literal(false, at),
    condition: call('@not_strictly_false', at, call('!_', at, accumulator(at))),
    step: call('_||_', at, accumulator(at), predicate),
    result: accumulator(at),
  };
}

function oneOf(predicate: Node, at: number): Fold {
  return {
    init: literal(0n, at),
    condition: literal(true, at),
    step: call('_?_:_', at, predicate, call('_+_', at, accumulator(at), literal(1n, at)), accumulator(at)),
    result: call('_==_', at, accumulator(at), literal(1n, at)),
  };
}

type Given = Node | undefined;

function collected(range: Node, variables: readonly Given[], filter: Given, step: Given, at: number): Node {
  const element: Node = { kind: 'list', at, elements: [{ value: given(step, at), optional: false }] };
  const init: Node = { kind: 'list', at, elements: [] };
  return accumulated(range, variables, init, filter, call('_+_', at, accumulator(at), element), at);
}

function inserted(
  range: Node,
  variables: readonly Given[],
  filter: Given,
  entry: readonly Given[],
  at: number,
): Node {
  const init: Node = { kind: 'map', at, entries: [] };
  const step = call('cel.@mapInsert', at, accumulator(at), ...entry.map((part) => given(part, at)));
  return accumulated(range, variables, init, filter, step, at);
}

function accumulated(
  range: Node,
  variables: readonly Given[],
  init: Node,
  filter: Given,
  step: Node,
  at: number,
): Node {
  return {
    kind: 'comprehension',
    at,
    range,
    ...named(variables, at),
    init,
    condition: literal(true, at),
    step: filter === undefined ? step : call('_?_:_', at, filter, step, accumulator(at)),
    result: accumulator(at),
  };
}

/** `target.hasValue() ? wrap(expression of the value) : optional.none()` */
function withValue(
  target: Node,
  [variable, expression]: readonly Given[],
  at: number,
  wrap: (value: Node) => Node,
): Node {
  const value: Node = { kind: 'call', name: 'value', target, args: [], at };
  const bound = bind(nameOf(variable, at), value, given(expression, at), at);
  const present: Node = { kind: 'call', name: 'hasValue', target, args: [], at };
  return call('_?_:_', at, present, wrap(bound), call('optional.none', at));
}

function sortBy(target: Node, [variable, key]: readonly Given[], at: number): Node {
  if (target.kind === 'literal' || target.kind === 'map')
    throw new SyntaxFault(
      'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
      at,
    );
  const name = '@__sortBy_input__';
  const input: Node = { kind: 'ident', name, at };
  const keys = collected(input, [variable], undefined, key, at);
  const sorted: Node = { kind: 'call', name: '@sortByAssociatedKeys', target: input, args: [keys], at };
  return bind(name, target, sorted, at);
}

/** A comprehension over nothing, whose accumulator is the name. */
function bind(name: string, value: Node, result: Node, at: number): Node {
  return {
    kind: 'comprehension',
    at,
    range: { kind: 'list', at, elements: [] },
    variable: '#unused',
    accumulator: name,
    init: value,
    condition: literal(false, at),
    step: { kind: 'ident', name, at },
    result,
  };
}

function named([first, second]: readonly Given[], at: number) {
  const variable = nameOf(first, at);
  if (second === undefined) return { variable, accumulator: ACCUMULATOR };
  const variable2 = nameOf(second, at);
  if (variable === variable2) throw new SyntaxFault(`duplicate variable name: ${variable}`, at);
  return { variable, variable2, accumulator: ACCUMULATOR };
}

function nameOf(node: Given, at: number): string {
  if (node?.kind !== 'ident') throw new SyntaxFault('argument must be a simple name', node?.at ?? at);
  if (node.name === '__result__')
    throw new SyntaxFault('iteration variable overwrites accumulator variable', node.at);
  return node.name;
}

function given(node: Given, at: number): Node {
  if (node === undefined) throw new SyntaxFault('expected an argument', at);
  return node;
}

function accumulator(at: number): Node {
  return { kind: 'ident', name: ACCUMULATOR, at };
}

function literal(value: boolean | bigint, at: number): Node {
  return { kind: 'literal', value, at };
}

function call(name: string, at: number, ...args: Node[]): Node {
  return { kind: 'call', name, args, at };
}
