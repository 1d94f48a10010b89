/**
 * Declares functions by their signatures, as the documents of CEL write them: `string.split(string, int):
 * list<string>` is called on a string, `size(list<A>): int` is not. Letters are type parameters.
 */
import type { Node } from './ast.ts';
import type { Budget } from './errors.ts';
import type { Type } from './types.ts';
import * as types from './types.ts';
import type { Value } from './values.ts';

/** @throws EvaluationFault if it cannot be done */
export type Run = (args: readonly Value[], budget: Budget) => Value;

export interface Overload {
  readonly member: boolean;
  /** The receiver first. */
  readonly args: readonly Type[];
  readonly result: Type;
  readonly params: readonly string[];
  readonly signature: string;
  readonly run?: Run;
}

export interface Declaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** For all overloads; it checks its arguments itself. */
  readonly any?: Run;
  /** Whether the overloads check their arguments themselves. */
  readonly unguarded: boolean;
}

/** By signature. */
export type Functions = Readonly<Record<string, Run>>;

const SIMPLE: ReadonlyMap<string, Type> = new Map(
  [types.BOOL, types.BYTES, types.DOUBLE, types.INT, types.STRING, types.UINT, types.DYN, types.NULL].map(
    (type): [string, Type] => [type.name, type],
  ),
);
const NAMED: ReadonlyMap<string, Type> = new Map([
  ['duration', types.DURATION],
  ['timestamp', types.TIMESTAMP],
  ['IP', types.struct('net.IP')],
  ['CIDR', types.struct('net.CIDR')],
  ['URL', types.struct('kubernetes.URL')],
  ['Quantity', types.struct('kubernetes.Quantity')],
  ['Semver', types.struct('kubernetes.Semver')],
  ['Format', types.struct('kubernetes.NamedFormat')],
]);
const SIGNATURE = /^(?:(?<receiver>[^()]+)\.)?(?<name>[^().]+)\((?<args>.*)\): (?<result>.+)$/;

/** Several tables may declare overloads of one function. */
export class Declarations {
  readonly #overloads = new Map<string, Overload[]>();
  readonly #any = new Map<string, Run>();
  readonly #unguarded = new Set<string>();

  /** Each overload runs on arguments of its types. */
  add(functions: Functions): this {
    for (const [signature, run] of Object.entries(functions)) this.#declare(signature, run);
    return this;
  }

  /** Each overload runs on any arguments. */
  addUnguarded(functions: Functions): this {
    for (const signature of Object.keys(functions)) this.#unguarded.add(parsed(signature).name);
    return this.add(functions);
  }

  /** One implementation for all overloads. */
  addAny(signatures: readonly string[], run?: Run): this {
    for (const signature of signatures) {
      if (run !== undefined) this.#any.set(parsed(signature).name, run);
      this.#declare(signature);
    }
    return this;
  }

  declarations(): ReadonlyMap<string, Declaration> {
    return new Map(
      [...this.#overloads].map(([name, overloads]): [string, Declaration] => {
        const any = this.#any.get(name);
        const unguarded = this.#unguarded.has(name);
        return [name, { name, overloads, unguarded, ...(any === undefined ? {} : { any }) }];
      }),
    );
  }

  #declare(signature: string, run?: Run): void {
    const { name, overload } = parsed(signature);
    const known = this.#overloads.get(name) ?? [];
    this.#overloads.set(name, [...known, { ...overload, ...(run === undefined ? {} : { run }) }]);
  }
}

/** @throws Error for what is no signature */
function parsed(signature: string): { readonly name: string; readonly overload: Overload } {
  const { receiver, name, args, result } = SIGNATURE.exec(signature)?.groups ?? {};
  if (name === undefined || args === undefined || result === undefined)
    throw new Error(`no signature: ${signature}`);
  const target = receiver === undefined ? undefined : typeNamed(receiver);
  const params = separated(args).map(requiredType);
  const all = target === undefined ? params : [target, ...params];
  return {
    name: receiver !== undefined && target === undefined ? `${receiver}.${name}` : name,
    overload: {
      member: target !== undefined,
      args: all,
      result: requiredType(result),
      params: [...new Set([...all, requiredType(result)].flatMap(parametersIn))],
      signature,
    },
  };
}

function parametersIn(type: Type): readonly string[] {
  return type.kind === 'param' ? [type.name] : type.of.flatMap(parametersIn);
}

function requiredType(text: string): Type {
  const type = typeNamed(text);
  if (type === undefined) throw new Error(`no type: ${text}`);
  return type;
}

function typeNamed(text: string): Type | undefined {
  const [, outer, inner] = /^(list|map|optional|type)<(.*)>$/.exec(text) ?? [];
  if (inner === undefined) {
    if (/^[A-Z]$/.test(text)) return types.param(text);
    return SIMPLE.get(text) ?? NAMED.get(text);
  }
  const [first = types.DYN, second = types.DYN] = separated(inner).map(requiredType);
  if (outer === 'list') return types.listOf(first);
  if (outer === 'map') return types.mapOf(first, second);
  return outer === 'optional' ? types.optionalOf(first) : types.typeOf(first);
}

/** By the commas that are not within brackets. */
function separated(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const [index, character] of [...text].entries()) {
    if (character === '<') depth += 1;
    if (character === '>') depth -= 1;
    if (character !== ',' || depth > 0) continue;
    parts.push(text.slice(from, index).trim());
    from = index + 1;
  }
  const last = text.slice(from).trim();
  return last === '' ? parts : [...parts, last];
}

/** What an expression may speak of. */
export interface Environment {
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: ReadonlyMap<string, Declaration>;
  /** The fields of `kubernetes.UserInfo` and the like. */
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
