/**
 * Splits a CEL expression into tokens, and reads the literals among them as cel-go does.
 * https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax
 */
import { SyntaxFault } from './errors.ts';
import { Uint, type Value } from './values.ts';

export interface Token {
  readonly kind: 'literal' | 'ident' | 'escaped' | 'punctuation' | 'end';
  /** The text; a number's has no sign, which the parser adds. */
  readonly text: string;
  readonly at: number;
}

const ESCAPE = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})`;
const STRING = [
  String.raw`[rR]"""[\s\S]*?"""`,
  String.raw`[rR]'''[\s\S]*?'''`,
  String.raw`[rR]"[^"\n\r]*"`,
  String.raw`[rR]'[^'\n\r]*'`,
  String.raw`"""(?:${ESCAPE}|[^\\])*?"""`,
  String.raw`'''(?:${ESCAPE}|[^\\])*?'''`,
  String.raw`"(?:${ESCAPE}|[^\\"\n\r])*"`,
  String.raw`'(?:${ESCAPE}|[^\\'\n\r])*'`,
].join('|');
const BLANK = /(?:[\t \r\n\f]+|\/\/[^\n]*)+/y;
const NUMBER = String.raw`0x[0-9a-fA-F]+[uU]?|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[uU]?`;
const TOKEN = new RegExp(
  `(?<literal>[bB]?(?:${STRING})|${NUMBER})|(?<ident>[A-Za-z_][A-Za-z0-9_]*)|(?<escaped>\`[A-Za-z0-9_./ -]+\`)|(?<punctuation>==|!=|<=|>=|&&|\\|\\||[<>[\\]{}().,!?:+*/%-])`,
  'y',
);
const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;

export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (true) {
    BLANK.lastIndex = at;
    if (BLANK.test(source)) at = BLANK.lastIndex;
    if (at >= source.length) break;
    TOKEN.lastIndex = at;
    const groups = TOKEN.exec(source)?.groups;
    if (groups === undefined) throw new SyntaxFault('unexpected character', at);
    tokens.push(tokenOf(groups, at));
    at = TOKEN.lastIndex;
  }
  tokens.push({ kind: 'end', text: 'the end', at });
  return tokens;
}

function tokenOf({ literal, ident, escaped, punctuation }: Record<string, string | undefined>, at: number) {
  if (literal !== undefined) return { kind: 'literal', text: literal, at } as const;
  if (ident !== undefined) return { kind: 'ident', text: ident, at } as const;
  if (escaped !== undefined) return { kind: 'escaped', text: escaped.slice(1, -1), at } as const;
  return { kind: 'punctuation', text: punctuation ?? '', at } as const;
}

export function isNumber(text: string): boolean {
  return /^[0-9.]/.test(text) && !/[uU]$/.test(text);
}

/**
 * @param sign `-` before a number
 * @throws SyntaxFault for a number out of range, or an escape that is no character
 */
export function literalOf({ text, at }: Token, sign = ''): Value {
  if (/^[0-9.]/.test(text)) return numberOf(text, sign, at);
  if (/^[bB]/.test(text)) return Buffer.from(unquoted(text.slice(1), true, at), 'latin1');
  return unquoted(text, false, at);
}

function numberOf(text: string, sign: string, at: number): Value {
  if (/[uU]$/.test(text)) {
    const value = BigInt(text.slice(0, -1));
    if (value > MAX_UINT) throw new SyntaxFault('invalid uint literal', at);
    return new Uint(value);
  }
  if (/^(?:0x|[0-9]+$)/.test(text)) {
    const value = sign === '-' ? -BigInt(text) : BigInt(text);
    if (value > MAX_INT || value < -MAX_INT - 1n) throw new SyntaxFault('invalid int literal', at);
    return value;
  }
  const value = Number(sign + text);
  if (!Number.isFinite(value)) throw new SyntaxFault('invalid double literal', at);
  return value;
}

const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** @returns text; of bytes, one character for each */
function unquoted(literal: string, bytes: boolean, at: number): string {
  const raw = /^[rR]/.test(literal);
  const quoted = (raw ? literal.slice(1) : literal).replace(/\r\n?/g, '\n');
  const width = /^(?:"""|''')/.test(quoted) && quoted.length >= 6 ? 3 : 1;
  const text = quoted.slice(width, -width);
  const plain = (part: string) => (bytes ? Buffer.from(part, 'utf8').toString('latin1') : part);
  if (raw) return plain(text);
  const escapes = new RegExp(ESCAPE, 'g');
  let result = '';
  let from = 0;
  for (const { 0: sequence, index } of text.matchAll(escapes)) {
    result += plain(text.slice(from, index)) + characterOf(sequence.slice(1), bytes, at);
    from = index + sequence.length;
  }
  return result + plain(text.slice(from));
}

function characterOf(sequence: string, bytes: boolean, at: number): string {
  const [first = ''] = sequence;
  if (/[xXuU]/.test(first)) {
    if (bytes && /[uU]/.test(first)) throw new SyntaxFault('unable to unescape string', at);
    return codePoint(Number.parseInt(sequence.slice(1), 16), at);
  }
  if (/[0-3]/.test(first)) return codePoint(Number.parseInt(sequence, 8), at);
  return SIMPLE[first] ?? first;
}

function codePoint(value: number, at: number): string {
  if (value > 0x10_ff_ff || (value >= 0xd8_00 && value <= 0xdf_ff))
    throw new SyntaxFault('invalid unicode code point', at);
  return String.fromCodePoint(value);
}

export class TokenCursor {
  readonly #tokens: readonly Token[];
  next = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  peek(): Token {
    return this.#tokens[this.next] ?? { kind: 'end', text: 'the end', at: 0 };
  }

  advance(): Token {
    const token = this.peek();
    this.next += 1;
    return token;
  }

  at(punctuation: string): boolean {
    const { kind, text } = this.peek();
    return kind === 'punctuation' && text === punctuation;
  }

  take(punctuation: string): boolean {
    if (!this.at(punctuation)) return false;
    this.next += 1;
    return true;
  }

  expect(punctuation: string): void {
    if (!this.take(punctuation)) throw this.unexpected(punctuation);
  }

  unexpected(expected?: string): SyntaxFault {
    const { text, at } = this.peek();
    const wanted = expected === undefined ? '' : `, expected ${expected}`;
    return new SyntaxFault(`unexpected ${text}${wanted}`, at);
  }
}
