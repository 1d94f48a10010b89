/**
 * Parses JSON that another program will parse again: accepts only text that every parser reads alike. A key
 * that occurs twice is read in three ways (the first, the last, or both merged), and an unpaired surrogate is
 * replaced by some parsers, so both are refused. RFC 8259 §4 and §8.2; RFC 7493 §2.
 */
import { hash } from 'node:crypto';
import { MAX_DEPTH } from './json-scan.ts';

export interface JSONLimits {
  /** Objects and arrays within each other. */
  readonly depth: number;
  /** What becomes of deeper ones: they are refused, or each is read as a digest of its text, unchecked. */
  readonly deeper?: 'refused' | 'digest';
  /** Values and keys in all: a small text can hold very many of them, and each may take two microseconds. */
  readonly nodes: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * @returns plain data; a key may be `__proto__`
 * @throws SyntaxError with a message that repeats nothing of the text
 */
export function parseStrictJSON(bytes: Uint8Array, limits: JSONLimits): unknown {
  const { text, keys } = new Scan(decodeUTF8(bytes), limits).run();
  const value = parse(text);
  const found = countMembers(value);
  if (found.members < keys) throw new SyntaxError('a key occurs twice in one object');
  if (!found.isWellFormed) throw new SyntaxError('a string holds half of a surrogate pair');
  return value;
}

/**
 * Whether any object has a key twice, or the text is nested more deeply than Go's decoder accepts.
 *
 * @param text valid JSON
 * @param value what it says
 */
export function keysIn(text: string, value: unknown): 'unique' | 'repeated' | 'tooDeep' {
  try {
    const { keys } = new Scan(text, { depth: MAX_DEPTH, nodes: Number.POSITIVE_INFINITY }).run();
    return countMembers(value).members < keys ? 'repeated' : 'unique';
  } catch (error) {
    if (error instanceof SyntaxError) return 'tooDeep';
    throw error;
  }
}

function decodeUTF8(bytes: Uint8Array): string {
  try {
    // A byte order mark stays, for JSON.parse to refuse.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new SyntaxError('it is not UTF-8', { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SyntaxError('it is not JSON', { cause });
  }
}

/**
 * Counts what is in a text before it is parsed. The text need not be valid: then the counts do not matter,
 * because JSON.parse refuses it.
 */
class Scan {
  readonly #text: string;
  readonly #limits: JSONLimits;
  #depth = 0;
  #nodes = 1;

  constructor(text: string, limits: JSONLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  /** @returns the text that is to be parsed, and its keys: an object that has one twice has fewer members */
  run(): { readonly text: string; readonly keys: number } {
    const text = this.#text;
    const pieces: string[] = [];
    let from = 0;
    let keys = 0;
    for (let at = 0; at < text.length; at += 1) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          at = this.#endOfString(at);
          break;
        case COLON:
          keys += 1;
          this.#count();
          break;
        case COMMA:
          this.#count();
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          this.#count();
          if (this.#depth === this.#limits.depth) {
            if (this.#limits.deeper !== 'digest') throw new SyntaxError('it is nested too deeply');
            const end = this.#endOfBrackets(at);
            pieces.push(text.slice(from, at), `"${hash('sha256', text.slice(at, end))}"`);
            from = end;
            at = end - 1;
          } else this.#depth += 1;
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#depth -= 1;
          break;
      }
    }
    return { text: from === 0 ? text : pieces.join('') + text.slice(from), keys };
  }

  /** @returns the index of the closing quote */
  #endOfString(start: number): number {
    const text = this.#text;
    for (let at = start + 1; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at;
      if (code === BACKSLASH) at += 1;
    }
    throw new SyntaxError('it is not JSON');
  }

  /** @returns the index behind the object or array */
  #endOfBrackets(start: number): number {
    const text = this.#text;
    let open = 0;
    for (let at = start; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = this.#endOfString(at);
      else if (code === OPEN_OBJECT || code === OPEN_ARRAY) open += 1;
      else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
        open -= 1;
        if (open === 0) return at + 1;
      }
    }
    throw new SyntaxError('it is not JSON');
  }

  #count(): void {
    this.#nodes += 1;
    if (this.#nodes > this.#limits.nodes) throw new SyntaxError('it holds too many values');
  }
}

/** Counts the members of all objects. It does not recurse: the client chooses the depth. */
function countMembers(value: unknown): { members: number; isWellFormed: boolean } {
  const pending: object[] = [];
  let members = 0;
  let isWellFormed = true;
  const take = (one: unknown) => {
    if (typeof one === 'string') isWellFormed &&= one.isWellFormed();
    else if (typeof one === 'object' && one !== null) pending.push(one);
  };
  take(value);
  for (let one = pending.pop(); one !== undefined; one = pending.pop())
    if (Array.isArray(one)) one.forEach(take);
    else
      for (const key of Object.keys(one)) {
        members += 1;
        take(key);
        take(Reflect.get(one, key));
      }
  return { members, isWellFormed };
}

/** Whether another program reads the same number, and not a rounded one. */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
