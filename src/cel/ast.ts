/**
 * The abstract syntax of a CEL expression, after its macros are expanded: the same few kinds of nodes as in
 * cel-go.
 * https://github.com/google/cel-spec/blob/master/doc/langdef.md
 */
import type { Value } from './values.ts';

interface At {
  /** Its offset in the source, for messages. */
  readonly at: number;
}

export interface Literal extends At {
  readonly kind: 'literal';
  readonly value: Value;
}

export interface Ident extends At {
  readonly kind: 'ident';
  readonly name: string;
}

export interface Select extends At {
  readonly kind: 'select';
  readonly operand: Node;
  readonly field: string;
  /** `has(operand.field)` */
  readonly test: boolean;
}

export interface Call extends At {
  readonly kind: 'call';
  readonly name: string;
  readonly target?: Node;
  readonly args: readonly Node[];
}

export interface ListLiteral extends At {
  readonly kind: 'list';
  readonly elements: readonly { readonly value: Node; readonly optional: boolean }[];
}

export interface MapLiteral extends At {
  readonly kind: 'map';
  readonly entries: readonly { readonly key: Node; readonly value: Node; readonly optional: boolean }[];
}

export interface Comprehension extends At {
  readonly kind: 'comprehension';
  readonly range: Node;
  readonly variable: string;
  /** The value beside an index or a key. */
  readonly variable2?: string;
  readonly accumulator: string;
  readonly init: Node;
  readonly condition: Node;
  readonly step: Node;
  readonly result: Node;
}

export type Node = Literal | Ident | Select | Call | ListLiteral | MapLiteral | Comprehension;

export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'literal':
    case 'ident':
      return [];
    case 'select':
      return [node.operand];
    case 'call':
      return node.target === undefined ? node.args : [node.target, ...node.args];
    case 'list':
      return node.elements.map(({ value }) => value);
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case 'comprehension':
      return [node.range, node.init, node.condition, node.step, node.result];
  }
}

/** `a.b.c`, if the node is nothing but names. */
export function qualifiedName(node: Node): string | undefined {
  if (node.kind === 'ident') return node.name;
  if (node.kind !== 'select' || node.test) return undefined;
  const operand = qualifiedName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}
