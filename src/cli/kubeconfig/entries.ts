/**
 * Merges the entries of `stonegate kubeconfig` into an existing kubeconfig without changing anything else.
 * Entries of the same name are replaced only if Stonegate created them.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
import { type Document, isMap, isScalar, isSeq, type Node, stringify, visit, type YAMLSeq } from 'yaml';
import {
  KUBECONFIG_EXTENSION,
  type KubeconfigEntries,
  type KubeconfigEntry,
} from '../../kubernetes/kubeconfig-v1.ts';
import { withEscapedControls } from '../../lib/untrusted-text.ts';
import { quoteControls } from '../command.ts';
import { readYAML } from '../read-yaml.ts';

/** The lists of a kubeconfig, and the member of an entry that has its content. */
const LISTS = [
  ['clusters', 'cluster'],
  ['users', 'user'],
  ['contexts', 'context'],
] as const;

const EMPTY = 'apiVersion: v1\nkind: Config\n';

/**
 * @param text of the file; undefined if there is no file
 * @param options `use`: the context to switch to; without it only a file without a current context gets one.
 *   `force`: also replaces entries that Stonegate did not create
 * @param file named in errors
 * @returns the new text, and what is new in it as a kubeconfig of its own: the rest may contain secrets
 * @throws Error if the text is not a kubeconfig, or a name is in use
 */
export function mergeEntries(
  text: string | undefined,
  entries: KubeconfigEntries,
  { force, use }: { readonly force: boolean; readonly use: string | undefined },
  file: string,
): { readonly merged: string; readonly added: string } {
  const document = read(text, file);
  if (!force) assertNamesFree(document, entries, file);
  const current = use ?? (document.get('current-context') ? undefined : entries.contexts[0]?.name);
  const [merged, added] = [document, read(undefined, file)].map((target) => {
    for (const [list] of LISTS) {
      const sequence = sequenceOf(target, list, file);
      for (const entry of entries[list]) put(target, sequence, entry);
    }
    if (current !== undefined) choose(target, current);
    return target.toString({ lineWidth: 0 });
  });
  return { merged: merged ?? '', added: withEscapedControls(added ?? '', 'yaml') };
}

function read(text: string | undefined, file: string): Document {
  const { document } = readYAML(text === undefined || text.trim() === '' ? EMPTY : text, file);
  if (!isMap(document.contents)) throw new Error(`${file} is no kubeconfig`);
  return document;
}

/** @throws Error if Stonegate did not create an entry of one of these names */
function assertNamesFree(document: Document, entries: KubeconfigEntries, file: string): void {
  for (const [list, member] of LISTS) {
    const sequence = document.get(list);
    if (!isSeq(sequence)) continue;
    for (const { name } of entries[list]) {
      const found = sequence.items[placeOf(sequence, name)];
      if (found === undefined || (isMap(found) && isOurs(found.get(member)))) continue;
      throw new Error(
        `the ${member} ${JSON.stringify(name)} in ${file} is not of stonegate kubeconfig: choose another --name, or --force to replace it`,
      );
    }
  }
}

/** @param content of an entry */
function isOurs(content: unknown): boolean {
  const extensions = isMap(content) ? content.get('extensions') : undefined;
  return isSeq(extensions) && placeOf(extensions, KUBECONFIG_EXTENSION) !== -1;
}

/** A comment beside the current value stays. */
function choose(document: Document, context: string): void {
  const name = document.get('current-context', true);
  const node = isScalar(name) ? name : document.createNode(context);
  if (isScalar(name)) name.value = context;
  else document.set('current-context', node);
  quoteForOlder(node);
}

/** kubectl writes `null` for an empty list. */
function sequenceOf(document: Document, list: keyof KubeconfigEntries, file: string): YAMLSeq {
  const found = document.get(list);
  if (isSeq(found)) return found;
  if (found !== undefined && found !== null) throw new Error(`${list} in ${file} is no list`);
  const created = document.createNode([]);
  document.set(list, created);
  return created;
}

function put(document: Document, sequence: YAMLSeq, entry: KubeconfigEntry): void {
  const at = placeOf(sequence, entry.name);
  const node = quoteForOlder(document.createNode(entry));
  if (at === -1) sequence.add(node);
  else sequence.set(at, node);
}

/**
 * kubectl reads YAML 1.1, in which a namespace called `on` or `no` is a boolean. Only our own entries are
 * quoted: in the rest of the file such a word may be a boolean.
 */
function quoteForOlder<T extends Node>(node: T): T {
  visit(node, {
    Scalar(_key, scalar) {
      quoteControls(scalar);
      const { value } = scalar;
      if (typeof value === 'string' && stringify(value, { compat: 'yaml-1.1' }).startsWith('"'))
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return node;
}

/** -1 if there is no entry of this name. */
function placeOf(sequence: YAMLSeq, name: string): number {
  return sequence.items.findIndex((item) => isMap(item) && item.get('name') === name);
}
