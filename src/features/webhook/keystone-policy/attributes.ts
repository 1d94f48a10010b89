/**
 * Whether a permission covers what is asked for. Requests without a namespace (cluster-scoped objects, lists
 * over all namespaces) are covered by `*` alone: neither a namespace nor all but one are the whole cluster.
 */
import type { NonResourceAttributes, ResourceAttributes } from '../../../kubernetes/authorization-v1.ts';
import type { NamePattern, PolicyNonResource, ResourcePermission } from '../keystone-auth-configuration.ts';

export function allowsResource(permission: ResourcePermission, asked: ResourceAttributes): boolean {
  const { namespace = '', resource = '', subresource = '', verb = '' } = asked;
  return (
    resource !== '' &&
    hasVerb(permission.verbs, verb) &&
    coversNamespace(permission.namespaces, namespace) &&
    coversResource(permission.resources, resource, subresource)
  );
}

/** @param prefixes whether a final `*` of the path stands for any rest */
export function allowsNonResource(
  { path, verbs }: PolicyNonResource,
  asked: Required<NonResourceAttributes>,
  { prefixes = false } = {},
): boolean {
  if (path === undefined || asked.path === '' || !hasVerb(verbs, asked.verb)) return false;
  const rest = prefixes && path.endsWith('*');
  return rest ? asked.path.startsWith(path.replace(/\*+$/, '')) : asked.path === path;
}

function hasVerb(verbs: ReadonlySet<string>, verb: string): boolean {
  return verb !== '' && (verbs.has('*') || verbs.has(verb.toLowerCase()));
}

function coversNamespace(pattern: NamePattern, namespace: string): boolean {
  if (pattern.kind === 'every') return true;
  if (namespace === '') return false;
  const named = pattern.names.has('*') || pattern.names.has(namespace);
  return pattern.kind === 'only' ? named : !named;
}

/** A resource that is left out takes its subresources with it; one that is named does not bring them. */
function coversResource(pattern: NamePattern, resource: string, subresource: string): boolean {
  if (pattern.kind === 'every') return true;
  const { names } = pattern;
  const named =
    names.has('*') ||
    (subresource === ''
      ? names.has(resource)
      : names.has(`${resource}/${subresource}`) || names.has(`${resource}/*`));
  return pattern.kind === 'only' ? named : !named && !names.has(resource);
}
