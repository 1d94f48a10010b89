/**
 * Whether a rule covers a request, as Kubernetes' RBAC authorizer decides it.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
 */

import type { Question, ResourceQuestion } from '../kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import type { StoredRole } from '../kubernetes/rbac-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';

/** Stands for every verb, API group or resource. */
export const WILDCARD = '*';

export function ruleAllows(rule: PolicyRule, question: Question): boolean {
  if (!verbMatches(rule, question.verb)) return false;
  return 'path' in question
    ? pathMatches(rule, question.path)
    : resourceMatches(rule, question) && nameMatches(rule, question.name);
}

export function verbMatches({ verbs }: PolicyRule, verb: string): boolean {
  return verbs.includes(WILDCARD) || verbs.includes(verb);
}

/** What a request does, without the object and the place. */
export type Action = Pick<ResourceQuestion, 'verb' | 'apiGroup' | 'resource' | 'subresource'>;

/** Group and resource, without name. */
export function resourceMatches(
  { apiGroups = [], resources = [] }: PolicyRule,
  { apiGroup, resource, subresource }: Omit<Action, 'verb'>,
): boolean {
  if (!apiGroups.includes(WILDCARD) && !apiGroups.includes(apiGroup)) return false;
  if (resources.includes(WILDCARD)) return true;
  if (subresource === '') return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

/** A rule without names covers every name, and requests that have none. */
export function nameMatches({ resourceNames = [] }: PolicyRule, name: string): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

function pathMatches({ nonResourceURLs = [] }: PolicyRule, path: string): boolean {
  return nonResourceURLs.some(
    (url) =>
      url === WILDCARD ||
      url === path ||
      (url.endsWith(WILDCARD) && path.startsWith(url.replace(/\*+$/, ''))),
  );
}

type RoleRules = Pick<StoredRole, 'rules'>;

export function roleAllows({ rules }: RoleRules, question: Question): boolean {
  return rules.some((rule) => ruleAllows(rule, question));
}

/** Names of objects, if the rules are limited to some; the name of a request that names none is empty. */
export type Covered = 'all' | ReadonlySet<string>;

export function coveredByRole({ rules }: RoleRules, action: Action): Covered {
  const names = new Set<string>();
  for (const rule of rules) {
    if (!verbMatches(rule, action.verb) || !resourceMatches(rule, action)) continue;
    const { resourceNames = [] } = rule;
    if (resourceNames.length === 0) return 'all';
    for (const name of resourceNames) names.add(name);
  }
  return names;
}

/**
 * What both rules cover of resources; undefined if that is nothing, which is found without a copy. The cost
 * is that of the texts of both.
 */
export function intersectionOf(one: PolicyRule, other: PolicyRule): PolicyRule | undefined {
  if (!meet(one.apiGroups, other.apiGroups) || !meet(one.verbs, other.verbs)) return undefined;
  const resources = common(one.resources, other.resources, widerResources);
  if (resources.length === 0) return undefined;
  const [names = [], others = []] = [one.resourceNames, other.resourceNames];
  const haveNames = names.length > 0 && others.length > 0;
  const resourceNames = haveNames ? names.filter((name) => setOf(others).has(name)) : [...names, ...others];
  if (haveNames && resourceNames.length === 0) return undefined;
  return {
    verbs: common(one.verbs, other.verbs),
    apiGroups: common(one.apiGroups, other.apiGroups),
    resources,
    ...(resourceNames.length > 0 && { resourceNames }),
  };
}

const setOf = memoizeByReference((texts: readonly string[]): ReadonlySet<string> => new Set(texts));

/** Whether verbs or API groups have something in common. */
function meet(some: readonly string[] = [], others: readonly string[] = []): boolean {
  const [fewer, more] = some.length < others.length ? [some, others] : [others, some];
  const all = setOf(more);
  return all.has(WILDCARD) ? fewer.length > 0 : fewer.some((text) => text === WILDCARD || all.has(text));
}

/** @param widerOf the values that cover a value, itself included */
function common(
  some: readonly string[] = [],
  others: readonly string[] = [],
  widerOf = (value: string): readonly string[] => [value, WILDCARD],
): readonly string[] {
  if (isEverything(some)) return others;
  if (isEverything(others)) return some;
  const within = (values: readonly string[], all: ReadonlySet<string>) =>
    values.filter((value) => all.has(value) || widerOf(value).some((wider) => all.has(wider)));
  return [...new Set([...within(some, setOf(others)), ...within(others, setOf(some))])];
}

function isEverything(texts: readonly string[]): boolean {
  return texts.length === 1 && texts[0] === WILDCARD;
}

/** The resources of a rule that cover the resource, itself included. */
export function widerResources(resource: string): readonly string[] {
  if (resource === WILDCARD) return [WILDCARD];
  if (!resource.includes('/')) return [resource, WILDCARD];
  const [name = '', subresource = '', ...more] = resource.split('/');
  const isSubresource = name !== '' && name !== WILDCARD && subresource !== '' && more.length === 0;
  return isSubresource ? [resource, `*/${subresource}`, WILDCARD] : [resource, WILDCARD];
}
