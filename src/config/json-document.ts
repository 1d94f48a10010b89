/**
 * JSON text → plain data, strictly: no key twice, of which `JSON.parse` takes the last in silence, so that a restriction in
 * the first would be none. RFC 8259 §4.
 */
import { formatPath, formatProblem } from './problem.ts';

export type JSONDocument =
  | { readonly ok: true; readonly data: unknown }
  /** Each with its place. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Also for a text that is no JSON: that is its problem. */
export function readJSON(text: string): JSONDocument {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { ok: false, problems: ['is no JSON'] };
  }
  const problems = [...unusableKeys(text)];
  return problems.length === 0 ? { ok: true, data } : { ok: false, problems };
}

/** An object or a list that is not closed yet. */
interface Open {
  /** Undefined in a list. */
  readonly keys: Set<string> | undefined;
  /** Of the value that is being read. */
  at: string | number;
}

/** With a string that is a key its colon. */
const TOKEN = /("(?:[^"\\]+|\\.)*")(\s*:)?|[{}[\],]/g;

/** @param text has been found to be JSON */
function* unusableKeys(text: string): Generator<string> {
  const open: Open[] = [];
  for (const [token, string, colon] of text.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (token === '{') open.push({ keys: new Set(), at: '' });
    else if (token === '[') open.push({ keys: undefined, at: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && typeof inner?.at === 'number') inner.at += 1;
    else if (string !== undefined && colon !== undefined && inner?.keys !== undefined) {
      const key = String(JSON.parse(string));
      inner.at = key;
      if (key === '__proto__') yield problemIn(open, 'may not be a key');
      else if (inner.keys.has(key)) yield problemIn(open, 'is written twice');
      inner.keys.add(key);
    }
  }
}

function problemIn(open: readonly Open[], message: string): string {
  return formatProblem({ path: formatPath(open.map(({ at }) => at)), message });
}
