/**
 * Parses a CEL expression by the grammar of cel-go, with its optional syntax, its macros and its bounds.
 * https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax
 */
import type { ListLiteral, MapLiteral, Node } from './ast.ts';
import { SyntaxFault } from './errors.ts';
import { expandMacro } from './macros.ts';
import { isNumber, literalOf, TokenCursor, tokensOf } from './tokens.ts';

/** The most expressions within each other, and operators on one path. */
const MAX_DEPTH = 250;
/** In characters. */
const MAX_LENGTH = 100_000;
const RESERVED = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
);
const CONSTANTS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const RELATIONS = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);

/** @throws SyntaxFault if it is no expression */
export function parse(source: string): Node {
  if (source.length > MAX_LENGTH && [...source].length > MAX_LENGTH)
    throw new SyntaxFault(`is longer than ${MAX_LENGTH} characters`, 0);
  return new Parser(tokensOf(source)).whole();
}

class Parser extends TokenCursor {
  readonly #depths = new WeakMap<Node, number>();
  #nesting = 0;

  whole(): Node {
    const node = this.#expression();
    if (this.peek().kind !== 'end') throw this.unexpected();
    return node;
  }

  #expression(): Node {
    this.#nesting += 1;
    if (this.#nesting > MAX_DEPTH) throw this.#tooDeep();
    const node = this.#conditional();
    this.#nesting -= 1;
    return node;
  }

  #conditional(): Node {
    const condition = this.#logical('||');
    const { at } = this.peek();
    if (!this.take('?')) return condition;
    const truthy = this.#logical('||');
    this.expect(':');
    return this.#operator('_?_:_', at, condition, truthy, this.#expression());
  }

  /** A chain is a balanced tree, as cel-go makes it. */
  #logical(operator: '||' | '&&'): Node {
    const below = () => (operator === '||' ? this.#logical('&&') : this.#relation());
    const terms = [below()];
    const { at } = this.peek();
    while (this.take(operator)) terms.push(below());
    return this.#balanced(operator, at, terms);
  }

  #balanced(operator: '||' | '&&', at: number, terms: readonly Node[]): Node {
    const [only] = terms;
    if (terms.length === 1 && only !== undefined) return only;
    const middle = Math.ceil(terms.length / 2);
    const halves = [terms.slice(0, middle), terms.slice(middle)];
    const args = halves.map((half) => this.#balanced(operator, at, half));
    return this.#sized({ kind: 'call', name: `_${operator}_`, args, at }, args, 0);
  }

  #relation(): Node {
    let left = this.#sum();
    while (RELATIONS.has(this.peek().text) && this.peek().kind !== 'literal') {
      const { text, at } = this.advance();
      left = this.#operator(text === 'in' ? '@in' : `_${text}_`, at, left, this.#sum());
    }
    return left;
  }

  #sum(): Node {
    return this.#binary(['+', '-'], () => this.#binary(['*', '/', '%'], () => this.#unary()));
  }

  #binary(operators: readonly string[], below: () => Node): Node {
    let left = below();
    while (operators.some((operator) => this.at(operator))) {
      const { text, at } = this.advance();
      left = this.#operator(`_${text}_`, at, left, below());
    }
    return left;
  }

  #unary(): Node {
    const { at, text } = this.peek();
    if (!this.at('!') && !this.at('-')) return this.#member();
    const start = this.next;
    let count = 0;
    while (this.take(text)) count += 1;
    // A number right behind a single minus is a negative literal, which may be the least of all.
    if (text === '-' && count === 1 && this.peek().kind === 'literal' && isNumber(this.peek().text)) {
      this.next = start;
      return this.#member();
    }
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    return this.#sized({ kind: 'call', name: `${text}_`, args: [operand], at }, [operand], 0);
  }

  #member(): Node {
    let node = this.#primary();
    while (true) {
      if (this.take('.')) node = this.#field(node);
      else if (this.at('[')) node = this.#index(node);
      else return node;
    }
  }

  #field(operand: Node): Node {
    const optional = this.take('?');
    const { kind, text, at } = this.advance();
    if ((kind !== 'ident' && kind !== 'escaped') || text === 'in' || CONSTANTS.has(text))
      throw new SyntaxFault('expected a name', at);
    if (kind === 'escaped') throw new SyntaxFault("unsupported syntax: '`'", at);
    if (optional) {
      const field: Node = { kind: 'literal', value: text, at };
      return this.#sized({ kind: 'call', name: '_?._', args: [operand, field], at }, [operand], 0);
    }
    if (!this.take('('))
      return this.#sized({ kind: 'select', operand, field: text, test: false, at }, [operand], 1);
    const args = this.#arguments();
    const expanded = expandMacro(text, operand, args, at);
    const call: Node = expanded ?? { kind: 'call', name: text, target: operand, args, at };
    return this.#sized(call, [operand, ...args], 1);
  }

  #index(operand: Node): Node {
    const { at } = this.advance();
    const name = this.take('?') ? '_[?_]' : '_[_]';
    const index = this.#expression();
    this.expect(']');
    return this.#operator(name, at, operand, index);
  }

  #primary(): Node {
    const { kind, text, at } = this.peek();
    if (this.take('(')) {
      const node = this.#expression();
      this.expect(')');
      return node;
    }
    if (this.take('[')) return this.#list(at);
    if (this.take('{')) return this.#map(at);
    const sign = this.at('-') ? this.advance().text : '';
    if (this.peek().kind === 'literal')
      return { kind: 'literal', value: literalOf(this.advance(), sign), at };
    if (sign !== '') throw this.unexpected();
    const constant = CONSTANTS.get(text);
    if (kind === 'ident' && constant !== undefined) {
      this.advance();
      return { kind: 'literal', value: constant, at };
    }
    return this.#name();
  }

  #name(): Node {
    this.take('.');
    const { kind, text, at } = this.advance();
    if (kind !== 'ident' || text === 'in' || CONSTANTS.has(text))
      throw new SyntaxFault(`unexpected ${text}`, at);
    if (RESERVED.has(text)) throw new SyntaxFault(`reserved identifier: ${text}`, at);
    if (!this.take('(')) return { kind: 'ident', name: text, at };
    const args = this.#arguments();
    const expanded = expandMacro(text, undefined, args, at);
    return this.#sized(expanded ?? { kind: 'call', name: text, args, at }, args, 0);
  }

  #arguments(): Node[] {
    const args: Node[] = [];
    if (this.take(')')) return args;
    do args.push(this.#expression());
    while (this.take(','));
    this.expect(')');
    return args;
  }

  #list(at: number): Node {
    const elements: ListLiteral['elements'][number][] = [];
    this.#items(']', () => {
      const optional = this.take('?');
      elements.push({ value: this.#expression(), optional });
    });
    const parts = elements.map(({ value }) => value);
    return this.#sized({ kind: 'list', elements, at }, parts, 0);
  }

  #map(at: number): Node {
    const entries: MapLiteral['entries'][number][] = [];
    this.#items('}', () => {
      const optional = this.take('?');
      const key = this.#expression();
      this.expect(':');
      entries.push({ key, value: this.#expression(), optional });
    });
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return this.#sized({ kind: 'map', entries, at }, parts, 0);
  }

  /** With a comma behind the last one, if there is none or one. */
  #items(end: string, item: () => void): void {
    if (!this.take(',')) {
      while (!this.at(end)) {
        item();
        if (!this.take(',')) break;
      }
    }
    this.expect(end);
  }

  #operator(name: string, at: number, ...args: Node[]): Node {
    return this.#sized({ kind: 'call', name, args, at }, args, 1);
  }

  /** Counts how many operators are on the longest path. */
  #sized<N extends Node>(node: N, parts: readonly Node[], own: number): N {
    const depth = own + parts.reduce((most, part) => Math.max(most, this.#depths.get(part) ?? 0), 0);
    if (depth > MAX_DEPTH) throw this.#tooDeep();
    this.#depths.set(node, depth);
    return node;
  }

  #tooDeep(): SyntaxFault {
    return new SyntaxFault(`is nested deeper than ${MAX_DEPTH} levels`, this.peek().at);
  }
}
