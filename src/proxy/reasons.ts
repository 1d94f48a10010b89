/**
 * Puts into words why RBAC allows a request or not: the path from a Keystone role to group, binding, role and
 * rule, or what the user's roles nearly grant. A binding that the user may not read is not named.
 */

import type { Question } from '../kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import type { StoredBinding } from '../kubernetes/rbac-v1.ts';
import type { AccessIndex } from '../rbac/access-index.ts';
import { decide, type Grant } from '../rbac/decide.ts';
import { aggregatedFrom, type NearMiss, nearMisses } from '../rbac/near-miss.ts';
import { outsideReason } from '../rbac/scoped-rules.ts';
import { keystoneGroupInWords } from '../tenancy/keystone-groups.ts';
import { SubjectFilter, type Viewer } from './subject-owner.ts';

/** Names of the project in the user's own scope, by id. */
export type KnownProjects = ReadonlyMap<string, string>;

/**
 * @param allowed what the API server says
 * @returns undefined if the index says otherwise, or has nothing to say
 */
export function reasonFor(
  access: AccessIndex,
  viewer: Viewer,
  question: Question,
  allowed: boolean,
  projects: KnownProjects,
): string | undefined {
  const outside = outsideReason(viewer.user.scope, question);
  if (outside !== undefined) return allowed ? undefined : outside;
  if (access.state(viewer.user.tenant) !== 'current') return undefined;
  const { index } = access;
  const filter = new SubjectFilter(viewer, { index, isCurrent: true, scopes: undefined });
  const decision = decide(index, viewer.user, question);
  if (allowed !== (decision.decision === 'allow')) return undefined;
  if (decision.decision === 'allow')
    return decision.grant && pathOf(decision.grant, access, filter, projects);
  if ('path' in question) return undefined;
  const misses = nearMisses(index.objectsOf(viewer.user.tenant), viewer.user, question);
  return misses.length === 0 ? undefined : misses.map((miss) => missWords(miss, question, filter)).join('; ');
}

function pathOf(
  { binding, subject, role, rule }: Grant,
  { index }: AccessIndex,
  filter: SubjectFilter,
  projects: KnownProjects,
): string {
  const found = role.rules[rule];
  const roleKind = role.resource === 'roles' ? 'Role' : 'ClusterRole';
  const sources = found === undefined ? [] : aggregatedFrom(index.objectsOf(role.tenant), role, found);
  const readable = sources.filter((source) => filter.mayGet(source)).map(({ name }) => name);
  const from = readable.length === 0 ? '' : ` (from ClusterRole ${readable.join(', ')})`;
  const steps = [
    subject.kind === 'Group'
      ? keystoneGroupInWords(subject.name, (_kind, id) => projects.get(id) ?? id)
      : undefined,
    `${subject.kind.toLowerCase()} ${subject.name}`,
    bindingWords(binding, filter),
    ...(filter.mayGet(binding)
      ? [
          `${roleKind} ${role.name}${from}`,
          `rule ${rule + 1}${found === undefined ? '' : `: ${ruleWords(found)}`}`,
        ]
      : []),
  ];
  return steps.filter((step) => step !== undefined).join(' → ');
}

function bindingWords(binding: StoredBinding, filter: SubjectFilter): string {
  const { namespace, name } = binding;
  if (!filter.mayGet(binding))
    return namespace === '' ? 'a cluster-wide binding' : 'a binding in the namespace';
  return namespace === '' ? `ClusterRoleBinding ${name}` : `RoleBinding ${name}`;
}

function ruleWords({ verbs, resources = [], nonResourceURLs = [], resourceNames = [] }: PolicyRule): string {
  const named = resourceNames.length === 0 ? '' : ` named ${cut(resourceNames)}`;
  return `${cut(verbs)} ${cut([...resources, ...nonResourceURLs])}${named}`;
}

const MAX_WORDS = 8;

function cut(words: readonly string[]): string {
  return words.length <= MAX_WORDS ? words.join(',') : `${words.slice(0, MAX_WORDS).join(',')},…`;
}

function missWords(
  { binding, role, missed, rule }: NearMiss,
  { verb, resource, subresource, name }: Extract<Question, { resource: string }>,
  filter: SubjectFilter,
): string {
  const who = bindingWords(binding, filter);
  if (missed === 'empty')
    return filter.mayGet(binding)
      ? `${who} grants ClusterRole ${role.name}, whose aggregation is not filled in`
      : `${who} grants a role whose aggregation is not filled in`;
  const asked = subresource === '' ? resource : `${resource}/${subresource}`;
  // If the user may not read the binding, the message contains only the user's own rights.
  switch (missed) {
    case 'subresource':
      return `${who} grants \`${verb} ${resource}\`, not \`${asked}\``;
    case 'verb':
      return `${who} grants \`${cut(rule?.verbs ?? [])} ${asked}\`, not \`${verb}\``;
    case 'name':
      return name === ''
        ? `${who} grants \`${verb} ${asked}\` for some names only`
        : `${who} grants \`${verb} ${asked}\` for other names, not ${JSON.stringify(name)}`;
  }
}
