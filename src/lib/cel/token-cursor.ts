/**
 * A place in a list of tokens, and what a parser asks of it.
 */
import { SyntaxFault } from './error.ts';
import type { Token } from './tokens.ts';

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
