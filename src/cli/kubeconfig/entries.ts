/**
 * What `stonegate kubeconfig` adds: a cluster, and for each way to log in a user and a context of the same name. The
 * user is `stonegate login` as kubectl's credential plugin, so no secret stands in the file. Names are letters, digits
 * and dashes: `kubectl config set` takes a dot for the end of a name.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  stringify,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { KubeconfigError, readKubeconfig } from './file.ts';

export interface ClusterFacts {
  readonly name: string;
  readonly server: string;
  /** PEM; undefined where the system's authorities are enough. */
  readonly ca: string | undefined;
}

export interface Access {
  /** Of user and context. */
  readonly name: string;
  /** The words behind `stonegate`. */
  readonly args: readonly string[];
  readonly namespace?: string | undefined;
}

/** The lists of a kubeconfig, and under which member of an entry its content stands. */
const LISTS = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;
export type ListName = keyof typeof LISTS;
export type Entry = { readonly name: string } & Readonly<Record<string, unknown>>;
export type Entries = Readonly<Record<ListName, readonly Entry[]>>;

/** By this an entry is known to be ours: kubectl keeps extensions that it does not know. */
const EXTENSION = 'stonegate.dev';
const EXTENSIONS = [{ name: EXTENSION, extension: { provider: EXTENSION } }];

/** @param command what kubectl runs */
export function entriesOf(cluster: ClusterFacts, accesses: readonly Access[], command: string): Entries {
  const { name, server, ca } = cluster;
  const authority = ca && { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return {
    clusters: [{ name, cluster: { server, ...authority, extensions: EXTENSIONS } }],
    users: accesses.map((access) => ({
      name: access.name,
      user: { exec: execOf(command, access.args), extensions: EXTENSIONS },
    })),
    contexts: accesses.map((access) => ({
      name: access.name,
      context: {
        cluster: name,
        user: access.name,
        ...(access.namespace !== undefined && { namespace: access.namespace }),
        extensions: EXTENSIONS,
      },
    })),
  };
}

function execOf(command: string, args: readonly string[]) {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args,
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
    installHint: 'stonegate is needed to log in: put it on your PATH',
  };
}

/** @param content of an entry, under its list's member */
function isOurs(content: unknown): boolean {
  if (typeof content !== 'object' || content === null || !('extensions' in content)) return false;
  const { extensions } = content;
  return Array.isArray(extensions) && extensions.some((each: unknown) => isExtension(each));
}

function isExtension(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'name' in value && value.name === EXTENSION;
}

/** A name of these parts; empty where nothing of them is left. */
export function nameOf(...parts: readonly string[]): string {
  return parts
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}

// FROM src/cli/kubeconfig/merge.ts
/*!
 * Adds entries to a kubeconfig's text and leaves everything else as it is: order, comments and keys nobody here
 * knows. An entry of the same name is replaced where it is ours, and refused where it is not.
 */

const EMPTY = 'apiVersion: v1\nkind: Config\n';

export interface MergeOptions {
  /** Replaces entries of others too. */
  readonly force: boolean;
  /** The context to switch to, whatever the current one is. */
  readonly use: string | undefined;
}

/**
 * @param text of the file; undefined where there is none
 * @param file named in what is thrown
 * @returns the new text
 * @throws KubeconfigError where the text is no kubeconfig, or a name is taken
 */
export function mergeEntries(
  text: string | undefined,
  entries: Entries,
  { force, use }: MergeOptions,
  file: string,
): string {
  const document = read(text, file);
  if (!force) refuseTaken(document, entries, file);
  return write(document, entries, contextToChoose(document, entries, use), file);
}

/**
 * What `mergeEntries` would bring into the text, and nothing else of it: there may be secrets of others.
 *
 * @param text of the file; undefined where there is none
 * @param file named in what is thrown
 * @returns a kubeconfig, which names a current context where `mergeEntries` would switch to it
 * @throws KubeconfigError where `mergeEntries` does
 */
export function showEntries(
  text: string | undefined,
  entries: Entries,
  options: MergeOptions,
  file: string,
): string {
  mergeEntries(text, entries, options, file);
  const chosen = contextToChoose(read(text, file), entries, options.use);
  return write(read(undefined, file), entries, chosen, file);
}

/**
 * For the other files of `KUBECONFIG`: what is new would hide theirs of the same name.
 *
 * @throws KubeconfigError
 */
export function assertNamesFree(text: string | undefined, entries: Entries, file: string): void {
  refuseTaken(read(text, file), entries, file);
}

/** @returns undefined where the current one stays */
function contextToChoose(document: Document, entries: Entries, use: string | undefined): string | undefined {
  return use ?? (document.get('current-context') ? undefined : entries.contexts[0]?.name);
}

function write(document: Document, entries: Entries, chosen: string | undefined, file: string): string {
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

function refuseTaken(document: Document, entries: Entries, file: string): void {
  for (const list of listNames()) {
    const sequence = document.get(list);
    if (!isSeq(sequence)) continue;
    for (const { name } of entries[list]) {
      const found = sequence.items[placeOf(sequence, name)];
      if (found === undefined || (isMap(found) && isOurs(contentOf(found, LISTS[list])))) continue;
      throw new KubeconfigError(
        `the ${LISTS[list]} ${JSON.stringify(name)} in ${file} is not of stonegate kubeconfig: choose another --name, or --force to replace it`,
      );
    }
  }
}

function listNames(): ListName[] {
  return ['clusters', 'users', 'contexts'];
}

/** A comment beside the one so far stays. */
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

function put(document: Document, sequence: YAMLSeq, entry: Entry): void {
  const at = placeOf(sequence, entry.name);
  const node = quoteForOlder(document.createNode(entry));
  if (at === -1) sequence.add(node);
  else sequence.set(at, node);
}

/**
 * kubectl reads YAML 1.1, to which a namespace called `on` or `no` is a boolean. What is ours alone is quoted: in the
 * rest of the file such a word may be meant as one.
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

/** -1 where there is none of this name. */
function placeOf(sequence: YAMLSeq, name: string): number {
  return sequence.items.findIndex((item) => isMap(item) && item.get('name') === name);
}

function contentOf(entry: YAMLMap, member: string): unknown {
  const content = entry.get(member);
  return isMap(content) ? content.toJSON() : content;
}
