/**
 * A strict parser for YAML: one document, no duplicate keys, no `__proto__`, no exponential aliases. YAML 1.2
 * core schema. Files of kube-apiserver are read as it reads them.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
  type YAMLParseError,
} from 'yaml';
import { UNUSABLE_ALIASES, yamlMistake } from '../lib/yaml-mistake.ts';
import type { Path, Problem } from './problem.ts';

export type YAMLDocument =
  | { readonly ok: true; readonly data: unknown; readonly lineOf: (path: Path) => number | undefined }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * @param version 1.1 is what kube-apiserver reads: `yes` and `on` are true, `<<` merges mappings, whose keys
 *   must be unique together, and documents behind the first are ignored (sigs.k8s.io/yaml)
 */
export function readYAML(text: string, version: '1.1' | '1.2' = '1.2'): YAMLDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version,
    merge: version === '1.1',
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    // kube-apiserver reads a date as a string.
    customTags: (tags) =>
      tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:timestamp'),
  });
  const isIgnored = ({ code }: YAMLParseError) => version === '1.1' && code === 'MULTIPLE_DOCS';
  const errors = withoutConsequences(document.errors.filter((error) => !isIgnored(error)));
  const problemAt = (error: Pick<YAMLParseError, 'code' | 'message'>, offset: number): Problem => {
    const { line, col } = lines.linePos(offset);
    return { path: '', message: `is no valid YAML: ${yamlMistake(error)}`, line, column: col };
  };
  const problems: Problem[] = [...errors, ...document.warnings].map((error) =>
    problemAt(error, error.pos[0]),
  );
  visit(document, {
    Map(_, map) {
      const merges = version === '1.1' && map.items.some((pair) => keyName(pair) === '<<');
      if (merges && mergeRepeatsKey(map, document))
        problems.push(problemAt({ code: 'DUPLICATE_KEY', message: '' }, map.range?.[0] ?? 0));
    },
    Pair(_, pair) {
      const name = keyName(pair);
      if (name === undefined || name === '__proto__' || (name === '<<' && version !== '1.1')) {
        problems.push({ path: '', message: `${name ?? 'a composite value'} may not be a key` });
      }
    },
  });
  if (problems.length > 0) return { ok: false, problems };
  const lineOf = (path: Path) => {
    const offset = offsetOf(document.contents, path);
    return offset === undefined ? undefined : lines.linePos(offset).line;
  };
  try {
    return { ok: true, data: document.toJS({ maxAliasCount: 100 }), lineOf };
  } catch {
    return { ok: false, problems: [{ path: '', message: `is no usable YAML: ${UNUSABLE_ALIASES}` }] };
  }
}

/**
 * Leaves out the errors that follow from the first syntax error. A key that is written twice is not a syntax
 * error.
 */
function withoutConsequences(errors: readonly YAMLParseError[]): readonly YAMLParseError[] {
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  return errors.filter((error) => error === first || error.code === 'DUPLICATE_KEY');
}

/** Whether a key of the mapping is also in one that `<<` merges into it, or in two of these. */
function mergeRepeatsKey(map: YAMLMap, document: Document, seen = new Set<unknown>()): boolean {
  return map.items.some((pair) => {
    const name = keyName(pair);
    if (name !== '<<') return isSeen(seen, name);
    const merged = isSeq(pair.value) ? pair.value.items : [pair.value];
    return merged.some((each) => {
      const source = isAlias(each) ? each.resolve(document) : each;
      return isMap(source) && (isSeen(seen, source) || mergeRepeatsKey(source, document, seen));
    });
  });
}

/** Adds it. */
function isSeen(seen: Set<unknown>, value: unknown): boolean {
  const before = seen.size;
  return seen.add(value).size === before;
}

function keyName({ key }: Pair): string | undefined {
  if (!isScalar(key)) return undefined;
  // The parser gives the key of a merge as a symbol.
  return typeof key.value === 'symbol' ? key.value.description : String(key.value);
}

/** The offset of the value, or of the deepest existing part of the path. */
function offsetOf(root: unknown, path: Path): number | undefined {
  let node = root;
  let offset: number | undefined;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => keyName(item) === String(part));
      if (pair === undefined) return offset;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      if (isNode(node)) offset = node.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}
