/**
 * Parses JSON that another program will parse again: accepts only text that every parser reads alike. A key
 * that occurs twice is read in three ways (the first, the last, or both merged), and an unpaired surrogate is
 * replaced by some parsers, so both are refused. RFC 8259 §4 and §8.2; RFC 7493 §2.
 */
import { MAX_DEPTH } from './json-scan.ts';

export interface JSONLimits {
  /** Objects and arrays within each other. */
  readonly depth: number;
  /** Values and keys in all: a small text can hold very many of them. */
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
  const text = decodeUTF8(bytes);
  const scan = new KeyScan(text, limits);
  scan.run();
  if (scan.repeated) throw new SyntaxError('a key occurs twice in one object');
  const value = parse(text);
  if (scan.escaped && !isWellFormed(value)) throw new SyntaxError('a string holds half of a surrogate pair');
  return value;
}

/**
 * Whether any object has a key twice, or the text is nested more deeply than Go's decoder accepts.
 *
 * @param text valid JSON
 */
export function keysIn(text: string): 'unique' | 'repeated' | 'tooDeep' {
  const scan = new KeyScan(text, { depth: MAX_DEPTH, nodes: Number.POSITIVE_INFINITY });
  try {
    scan.run();
  } catch (error) {
    if (error instanceof SyntaxError) return 'tooDeep';
    throw error;
  }
  return scan.repeated ? 'repeated' : 'unique';
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
 * Finds repeated keys. What it reads need not be valid: then its findings do not matter, because JSON.parse
 * refuses the text.
 */
class KeyScan {
  escaped = false;
  repeated = false;
  readonly #text: string;
  readonly #limits: JSONLimits;
  /** The keys of each open object, and `undefined` for each open array. */
  readonly #open: (Set<string> | undefined)[] = [];
  #nodes = 1;

  constructor(text: string, limits: JSONLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  run(): void {
    const text = this.#text;
    let last = '';
    for (let at = 0; at < text.length; at += 1) {
      switch (text.charCodeAt(at)) {
        case QUOTE: {
          const end = this.#endOfString(at);
          last = text.slice(at, end + 1);
          at = end;
          break;
        }
        case COLON:
          this.#key(last);
          // Otherwise each further colon, which is possible in malformed text, would read the same key again.
          last = '';
          break;
        case COMMA:
          this.#count();
          break;
        case OPEN_OBJECT:
          this.#enter(new Set());
          break;
        case OPEN_ARRAY:
          this.#enter(undefined);
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#open.pop();
          break;
      }
    }
  }

  /** @returns the index of the closing quote */
  #endOfString(start: number): number {
    const text = this.#text;
    let at = start + 1;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at;
      if (code === BACKSLASH) {
        this.escaped = true;
        at += 1;
      }
    }
    throw new SyntaxError('it is not JSON');
  }

  #key(quoted: string): void {
    this.#count();
    const keys = this.#open.at(-1);
    if (keys === undefined) return;
    const key = quoted.includes('\\') ? String(parse(quoted)) : quoted.slice(1, -1);
    if (keys.has(key)) this.repeated = true;
    keys.add(key);
  }

  #enter(keys: Set<string> | undefined): void {
    this.#count();
    this.#open.push(keys);
    if (this.#open.length > this.#limits.depth) throw new SyntaxError('it is nested too deeply');
  }

  #count(): void {
    this.#nodes += 1;
    if (this.#nodes > this.#limits.nodes) throw new SyntaxError('it holds too many values');
  }
}

/** Only an escape can hold half of a pair: UTF-8 has no form for it. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member));
}

/** Whether another program reads the same number, and not a rounded one. */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
