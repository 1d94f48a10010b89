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
import { KubeconfigError, readKubeconfig } from './file.ts';

/** The lists of a kubeconfig, and the member of an entry that has its content. */
const LISTS = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;
type ListName = keyof typeof LISTS;

/** @param content of an entry */
function isOurs(content: unknown): boolean {
  const extensions = isMap(content) ? content.get('extensions') : undefined;
  return isSeq(extensions) && placeOf(extensions, KUBECONFIG_EXTENSION) !== -1;
}

const EMPTY = 'apiVersion: v1\nkind: Config\n';

export interface MergeOptions {
  /** Replaces also entries that Stonegate did not create. */
  readonly force: boolean;
  /** The context to switch to. */
  readonly use: string | undefined;
}

/**
 * @param text of the file; undefined if there is no file
 * @param file named in errors
 * @returns the new text
 * @throws KubeconfigError if the text is not a kubeconfig, or a name is in use
 */
export function mergeEntries(
  text: string | undefined,
  entries: KubeconfigEntries,
  { force, use }: MergeOptions,
  file: string,
): string {
  const document = read(text, file);
  if (!force) refuseTaken(document, entries, file);
  return write(document, entries, contextToChoose(document, entries, use), file);
}

/**
 * Only the entries that `mergeEntries` would add; the rest of the file may contain secrets.
 *
 * @param text of the file; undefined if there is no file
 * @param file named in errors
 * @returns a kubeconfig, with a current context if `mergeEntries` would switch to it
 * @throws KubeconfigError if `mergeEntries` does
 */
export function showEntries(
  text: string | undefined,
  entries: KubeconfigEntries,
  options: MergeOptions,
  file: string,
): string {
  mergeEntries(text, entries, options, file);
  const chosen = contextToChoose(read(text, file), entries, options.use);
  return write(read(undefined, file), entries, chosen, file);
}

/**
 * For the other files of `KUBECONFIG`: new entries would hide theirs of the same name.
 *
 * @throws KubeconfigError
 */
export function assertNamesFree(text: string | undefined, entries: KubeconfigEntries, file: string): void {
  refuseTaken(read(text, file), entries, file);
}

/** @returns undefined if the current context stays */
function contextToChoose(
  document: Document,
  entries: KubeconfigEntries,
  use: string | undefined,
): string | undefined {
  return use ?? (document.get('current-context') ? undefined : entries.contexts[0]?.name);
}

function write(
  document: Document,
  entries: KubeconfigEntries,
  chosen: string | undefined,
  file: string,
): string {
  for (const list of listNames()) {
    const sequence = sequenceOf(document, list, file);
    for (const entry of entries[list]) put(document, sequence, entry);
  }
  if (chosen !== undefined) choose(document, chosen);
  return document.toString({ lineWidth: 0 });
}

function read(text: string | undefined, file: string): Document {
  const { document } = readKubeconfig(text === undefined || text.trim() === '' ? EMPTY : text, file);
  if (!isMap(document.contents)) throw new KubeconfigError(`${file} is no kubeconfig`);
  return document;
}

function refuseTaken(document: Document, entries: KubeconfigEntries, file: string): void {
  for (const list of listNames()) {
    const sequence = document.get(list);
    if (!isSeq(sequence)) continue;
    for (const { name } of entries[list]) {
      const found = sequence.items[placeOf(sequence, name)];
      if (found === undefined || (isMap(found) && isOurs(found.get(LISTS[list])))) continue;
      throw new KubeconfigError(
        `the ${LISTS[list]} ${JSON.stringify(name)} in ${file} is not of stonegate kubeconfig: choose another --name, or --force to replace it`,
      );
    }
  }
}

function listNames(): ListName[] {
  return ['clusters', 'users', 'contexts'];
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
function sequenceOf(document: Document, list: ListName, file: string): YAMLSeq {
  const found = document.get(list);
  if (isSeq(found)) return found;
  if (found !== undefined && found !== null) throw new KubeconfigError(`${list} in ${file} is no list`);
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
