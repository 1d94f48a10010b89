/**
 * From what an operator types (`get pods -n web`, or a method and a path) to the request that is to be explained.
 */
import type { ExplainedRequest } from '../../api/stonegate-v1alpha1.ts';
import { UsageError } from '../usage.ts';
import { resourceType } from './resources.ts';

export interface RequestFlags {
  readonly namespace?: string | undefined;
  readonly 'all-namespaces'?: boolean | undefined;
  readonly subresource?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly upgrade?: string | undefined;
}

const METHODS: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['list', 'GET'],
  ['watch', 'GET'],
  ['create', 'POST'],
  ['update', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETE'],
]);
/** kubectl's words for what is a subresource of a pod; all but the log are connections. */
const POD_WORDS: ReadonlyMap<string, string> = new Map([
  ['exec', 'exec'],
  ['attach', 'attach'],
  ['port-forward', 'portforward'],
  ['logs', 'log'],
]);
const WITHOUT_NAME: ReadonlySet<string> = new Set(['list', 'create', 'deletecollection']);
const WITH_NAME: ReadonlySet<string> = new Set(['update', 'patch']);

/** @throws UsageError */
export function requestOf(words: readonly string[], flags: RequestFlags): ExplainedRequest {
  const headers = (flags.header ?? []).map(headerOf);
  const { method, path, upgrade } =
    flags.path === undefined ? requestOfWords(words, flags) : raw(words, flags);
  return {
    method,
    path,
    ...(headers.length > 0 && { headers }),
    ...(upgrade !== undefined && { upgrade }),
  };
}

function raw(words: readonly string[], { method = 'GET', path = '', upgrade }: RequestFlags) {
  if (words.length > 0) throw new UsageError('either --path or words like "get pods", not both');
  return { method: method.toUpperCase(), path, upgrade };
}

function requestOfWords(words: readonly string[], flags: RequestFlags) {
  const [verb, ...operands] = words;
  if (verb === undefined) throw new UsageError('what is to be explained? Words like "get pods", or --path');
  if (flags.method !== undefined) throw new UsageError('--method wants --path beside it');
  const subresource = POD_WORDS.get(verb);
  if (subresource !== undefined) return podRequest(subresource, operands, flags);
  const method = METHODS.get(verb);
  if (method === undefined)
    throw new UsageError(
      `unknown verb ${JSON.stringify(verb)}: one of ${[...METHODS.keys(), ...POD_WORDS.keys()].join(', ')}`,
    );
  const [type = '', name = ''] = targetOf(operands);
  if (name !== '' && WITHOUT_NAME.has(verb)) throw new UsageError(`${verb} takes no name`);
  if (name === '' && (WITH_NAME.has(verb) || flags.subresource !== undefined))
    throw new UsageError(`${verb} wants a name here`);
  const watching = verb === 'watch' ? watchQuery(name) : '';
  const path = pathOf(type, verb === 'watch' ? '' : name, flags);
  return { method, path: `${path}${watching}`, upgrade: flags.upgrade };
}

function podRequest(subresource: string, operands: readonly string[], flags: RequestFlags) {
  const [name, ...more] = operands;
  if (name === undefined || more.length > 0) throw new UsageError('expected the name of one pod');
  const path = pathOf('pods', name.replace(/^pods?\//, ''), { ...flags, subresource });
  const upgrade = flags.upgrade ?? (subresource === 'log' ? undefined : 'websocket');
  return { method: 'GET', path, upgrade };
}

/**
 * What the words leave open: whether a resource that nobody here knows is namespaced, only the API server could tell.
 *
 * @param words as `requestOf` took them
 * @returns a sentence for the person; undefined where nothing was guessed
 */
export function guessOf(
  [verb = '', ...operands]: readonly string[],
  flags: RequestFlags,
): string | undefined {
  const { path, namespace, 'all-namespaces': everywhere = false } = flags;
  if (path !== undefined || namespace !== undefined || everywhere || POD_WORDS.has(verb)) return undefined;
  const [word = ''] = targetOf(operands);
  if (resourceType(word, false)?.believed === undefined) return undefined;
  return `${word} is taken for cluster-wide; if it is namespaced, kubectl asks in a namespace: name it with -n`;
}

/** `pods web` or `pods/web`. */
function targetOf([first = '', second, ...more]: readonly string[]): readonly string[] {
  if (first === '') throw new UsageError('which resource? For example: get pods');
  if (more.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(more[0])}`);
  return second === undefined ? first.split('/', 2) : [first, second];
}

function pathOf(word: string, name: string, flags: RequestFlags): string {
  const { namespace, 'all-namespaces': everywhere = false, subresource } = flags;
  const type = resourceType(word, namespace !== undefined);
  if (type === undefined) {
    throw new UsageError(
      `no resource is known as ${JSON.stringify(word)}: write RESOURCE.VERSION.GROUP, or use --path`,
    );
  }
  const { group, version, resource, namespaced } = type;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespaced && !everywhere ? ['namespaces', namespace ?? 'default'] : [];
  const segments = [...place, resource, name, subresource ?? ''].filter((segment) => segment !== '');
  return [root, ...segments.map(escapeSegment)].join('/');
}

function watchQuery(name: string): string {
  return name === '' ? '?watch=true' : `?fieldSelector=metadata.name%3D${escapeSegment(name)}&watch=true`;
}

/** As Go's clients escape it. */
function escapeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll('%3A', ':');
}

function headerOf(line: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new UsageError('--header is written as "Name: value"');
  return [name, value];
}
