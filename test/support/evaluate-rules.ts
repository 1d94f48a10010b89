/**
 * The reference evaluation of access rules, as a service does it. docs/reference/
 * access-rules-search.md has the same in SQL.
 */
import type { AccessRule, AccessRules } from '../../src/features/access-rules/access-rules-v1alpha1.ts';
import type { ResourceQuestion } from '../../src/kubernetes/authorizer-attributes.ts';

export type RulesQuestion = Omit<ResourceQuestion, 'tenant'>;

/** @param rules for the question's verb, or for all verbs */
export function rulesAllow(rules: AccessRules, question: RulesQuestion) {
  return [...rules.everywhere, ...rulesFor(rules, question.namespace)].some((rule) => covers(rule, question));
}

function rulesFor(
  { cluster, namespaces, otherNamespaces }: AccessRules,
  namespace: string,
): readonly AccessRule[] {
  if (namespace === '') return cluster;
  return namespaces.find(({ names }) => names.includes(namespace))?.rules ?? otherNamespaces;
}

function covers(
  { verbs, apiGroups, resources, resourceNames }: AccessRule,
  { verb, apiGroup, resource, subresource, name }: RulesQuestion,
) {
  const wanted =
    subresource === '' ? ['*', resource] : ['*', `${resource}/${subresource}`, `*/${subresource}`];
  return (
    (verbs === undefined || verbs.includes('*') || verbs.includes(verb)) &&
    (apiGroups.includes('*') || apiGroups.includes(apiGroup)) &&
    wanted.some((one) => resources.includes(one)) &&
    (resourceNames === undefined || resourceNames.includes(name))
  );
}
