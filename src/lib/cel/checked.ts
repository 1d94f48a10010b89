/**
 * The input and the results of the type-checker.
 */
import type { Node } from './ast.ts';
import type { Declaration, Overload } from './declarations.ts';
import type { Type } from './types.ts';

/** What an expression may speak of. */
export interface Environment {
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: ReadonlyMap<string, Declaration>;
  /** Of `kubernetes.UserInfo` and the like. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, Type>>;
  /** Names that are types. */
  readonly typeNames: ReadonlyMap<string, Type>;
}

export interface Resolved {
  readonly declaration: Declaration;
  /** Those whose types fit, as far as they are known. */
  readonly overloads: readonly Overload[];
  /** `strings.quote(x)` is a function of that name, not of `strings`. */
  readonly namespaced: boolean;
}

export interface Checked {
  readonly type: Type;
  readonly typeOf: (node: Node) => Type;
  readonly calls: ReadonlyMap<Node, Resolved>;
  /** `google.protobuf.Timestamp` is one name, not two fields. */
  readonly names: ReadonlyMap<Node, string>;
}
