/**
 * Whether a rule covers a request, as Kubernetes' RBAC authorizer decides it.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { Question, ResourceQuestion } from './attributes.ts';

const ALL = '*';

export function ruleAllows(rule: PolicyRule, question: Question): boolean {
  if (!verbMatches(rule, question.verb)) return false;
  return 'path' in question
    ? pathMatches(rule, question.path)
    : resourceMatches(rule, question) && nameMatches(rule, question.name);
}

export function verbMatches({ verbs }: PolicyRule, verb: string): boolean {
  return verbs.includes(ALL) || verbs.includes(verb);
}

/** Group and resource, without name. */
export function resourceMatches(
  { apiGroups = [], resources = [] }: PolicyRule,
  { apiGroup, resource, subresource }: Pick<ResourceQuestion, 'apiGroup' | 'resource' | 'subresource'>,
): boolean {
  if (!apiGroups.includes(ALL) && !apiGroups.includes(apiGroup)) return false;
  if (resources.includes(ALL)) return true;
  if (subresource === '') return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

/** A rule without names covers every name, and requests that have none. */
export function nameMatches({ resourceNames = [] }: PolicyRule, name: string): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

function pathMatches({ nonResourceURLs = [] }: PolicyRule, path: string): boolean {
  return nonResourceURLs.some(
    (url) => url === ALL || url === path || (url.endsWith(ALL) && path.startsWith(url.replace(/\*+$/, ''))),
  );
}
