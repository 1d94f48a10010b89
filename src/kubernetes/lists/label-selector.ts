/**
 * Label selectors as apimachinery parses them, with its messages.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/labels#Parse
 */
import { StatusError } from '../../errors/status-error.ts';
import { isInt64, labelKeyProblem, labelValueProblem } from './label-syntax.ts';

export type Labels = Readonly<Record<string, string>>;

type BinaryOperator = 'in' | 'notin' | '=' | '==' | '!=' | '>' | '<';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: BinaryOperator | 'exists' | 'absent';
  readonly values: ReadonlySet<string>;
}

/** The cost of a list is that of its objects times the requirements. */
export const MAX_REQUIREMENTS = 100;
const NO_VALUES: ReadonlySet<string> = new Set();

/** All requirements must hold. */
export type LabelSelector = readonly LabelRequirement[];

/** @throws StatusError RequestMalformed */
export function parseLabelSelector(text: string): LabelSelector {
  return new Parser(tokensOf(text)).selector();
}

export function labelsMatch(selector: LabelSelector, labels: Labels): boolean {
  return selector.every((requirement) => matchesRequirement(requirement, labels));
}

function matchesRequirement({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'notin':
    case '!=':
      return value === undefined || !values.has(value);
    case '>':
    case '<':
      return value !== undefined && isInt64(value) && isBeyond(value, operator, values);
    default:
      return value !== undefined && values.has(value);
  }
}

function isBeyond(value: string, operator: '>' | '<', values: ReadonlySet<string>): boolean {
  const [limit = '0'] = values;
  return operator === '>' ? BigInt(value) > BigInt(limit) : BigInt(value) < BigInt(limit);
}

interface Token {
  /** `word` for an identifier, `end`, else the symbol or keyword itself. */
  readonly kind: string;
  readonly text: string;
}

const END: Token = { kind: 'end', text: '' };
const TOKEN = /[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)/y;

/** A zero byte ends the text, as in apimachinery's lexer. */
function tokensOf(text: string): Token[] {
  const [until = ''] = text.split('\0', 1);
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(until); found !== null; found = TOKEN.exec(until)) {
    const [, word = ''] = found;
    const isKeyword = word === 'in' || word === 'notin' || /^[=!(),<>]/.test(word);
    tokens.push({ kind: isKeyword ? word : 'word', text: word });
  }
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  selector(): LabelSelector {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const first = this.#peek();
      if (first.kind === 'end') return requirements;
      if (first.kind !== 'word' && first.kind !== '!')
        throw malformed(`found '${first.text}', expected: !, identifier, or 'end of string'`);
      if (requirements.length === MAX_REQUIREMENTS) throw tooManyRequirements('label');
      requirements.push(this.#requirement());
      const next = this.#next();
      if (next.kind === 'end') return requirements;
      if (next.kind !== ',') throw malformed(`found '${next.text}', expected: ',' or 'end of string'`);
      const following = this.#peek();
      if (following.kind !== 'word' && following.kind !== '!')
        throw malformed(`found '${following.text}', expected: identifier after ','`);
    }
  }

  #requirement(): LabelRequirement {
    let token = this.#next();
    const isAbsent = token.kind === '!';
    if (isAbsent) token = this.#next();
    if (token.kind !== 'word') throw unparsed(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const problem = labelKeyProblem(key);
    if (problem !== undefined) throw unparsed(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problem}`);
    if (isAbsent) return { key, operator: 'absent', values: NO_VALUES };
    const { kind } = this.#peek();
    if (kind === 'end' || kind === ',') return { key, operator: 'exists', values: NO_VALUES };
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#values() : this.#exactValue();
    assertValues(key, operator, [...values].sort());
    return { key, operator, values };
  }

  #operator(): BinaryOperator {
    // Here alone `in` and `notin` are no identifiers.
    const { kind, text } = this.#tokens[this.#at] ?? END;
    this.#at += 1;
    switch (kind) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
      case '>':
      case '<':
        return kind;
      default:
        throw unparsed(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  }

  #values(): Set<string> {
    const open = this.#next();
    if (open.kind !== '(') throw unparsed(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind === ')') {
      this.#next();
      return new Set(['']);
    }
    if (first.kind !== 'word' && first.kind !== ',')
      throw unparsed(`found '${first.text}', expected: ',', ')' or identifier`);
    const values = this.#identifiers();
    this.#next();
    return values;
  }

  /** Up to the closing parenthesis; two commas, or one at either end, enclose the empty value. */
  #identifiers(): Set<string> {
    const values = new Set<string>();
    for (;;) {
      const token = this.#next();
      const next = this.#peek();
      if (token.kind === 'word') {
        values.add(token.text);
        if (next.kind === ')') return values;
        if (next.kind !== ',') throw unparsed(`found '${next.text}', expected: ',' or ')'`);
      } else if (token.kind === ',') {
        if (values.size === 0) values.add('');
        if (next.kind === ')') return values.add('');
        if (next.kind === ',') {
          this.#next();
          values.add('');
        }
      } else throw unparsed(`found '${token.text}', expected: ',', or identifier`);
    }
  }

  #exactValue(): Set<string> {
    const { kind } = this.#peek();
    if (kind === 'end' || kind === ',') return new Set(['']);
    const token = this.#next();
    if (token.kind !== 'word') throw unparsed(`found '${token.text}', expected: identifier`);
    return new Set([token.text]);
  }

  #peek(): Token {
    const token = this.#tokens[this.#at] ?? END;
    return token.kind === 'in' || token.kind === 'notin' ? { kind: 'word', text: token.text } : token;
  }

  #next(): Token {
    const token = this.#peek();
    this.#at += 1;
    return token;
  }
}

function assertValues(key: string, operator: BinaryOperator, values: readonly string[]): void {
  const problems = values.flatMap((value, at) => {
    const found: string[] = [];
    if ((operator === '>' || operator === '<') && !isInt64(value))
      found.push(
        `values[${at}]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    const problem = labelValueProblem(value);
    if (problem !== undefined)
      found.push(`values[${at}][${key}]: Invalid value: ${JSON.stringify(value)}: ${problem}`);
    return found;
  });
  if (problems.length === 0) return;
  throw unparsed(problems.length === 1 ? `${problems[0]}` : `[${problems.join(', ')}]`);
}

/** @param kind `label` or `field` */
export function tooManyRequirements(kind: string): StatusError {
  return malformed(`a ${kind} selector has at most ${MAX_REQUIREMENTS} requirements here`);
}

function unparsed(why: string): StatusError {
  return malformed(`unable to parse requirement: ${why}`);
}

function malformed(message: string): StatusError {
  return new StatusError('RequestMalformed', message);
}
