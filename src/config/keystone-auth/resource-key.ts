/**
 * The keys of `resource_permissions` in a policy of k8s-keystone-auth: `namespace/resource`, each a name, `*`, `!name`,
 * `['a','b']` or `!['a','b']`. A further `/` names a subresource: `default/pods/exec`, `default/['pods','pods/log']`.
 */
import type { NamePattern } from '../../api/keystone-auth.ts';

export type ResourceKey =
  | { readonly namespaces: NamePattern; readonly resources: NamePattern }
  /** What was expected. */
  | { readonly problem: string };

const NAMESPACE = /^(\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)$/;
const RESOURCE = /^(\*|[a-z0-9][a-z0-9.-]*(\/(\*|[a-z0-9][a-z0-9.-]*))?)$/;

export function readResourceKey(key: string): ResourceKey {
  const slash = key.indexOf('/');
  if (slash === -1) return { problem: 'NAMESPACE/RESOURCE' };
  const namespaces = readPattern(key.slice(0, slash), NAMESPACE);
  const resources = readPattern(key.slice(slash + 1), RESOURCE);
  if (namespaces === undefined) {
    return { problem: "a namespace, *, !name, ['a','b'] or !['a','b'] before the first /" };
  }
  if (resources === undefined) {
    return {
      problem: "a resource such as pods or pods/exec, *, !name, ['a','b'] or !['a','b'] behind the /",
    };
  }
  return { namespaces, resources };
}

/** @returns undefined for what is no pattern of such names */
function readPattern(text: string, name: RegExp): NamePattern | undefined {
  const definition = text.trim().toLowerCase();
  if (definition === '*') return { kind: 'every' };
  const kind = definition.startsWith('!') ? 'except' : 'only';
  const rest = kind === 'except' ? definition.slice(1).trim() : definition;
  const names = rest.startsWith('[') ? readList(rest) : [rest];
  if (names === undefined || !names.every((each) => name.test(each))) return undefined;
  return { kind, names: new Set(names) };
}

/** A list in JSON, but for its quotes. */
function readList(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text.replaceAll("'", '"'));
    return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
