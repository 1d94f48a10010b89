/**
 * Whether the rules of a role allow a request. A tenant may write a role with tens of thousands of rules and
 * bind all users to it: what such a role covers is stored for the last kind of request.
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { StoredRole } from '../api/rbac-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Question, ResourceQuestion } from './attributes.ts';
import { resourceMatches, ruleAllows, verbMatches } from './rules.ts';

/** What a request does, without the object and the place. */
export type Action = Pick<ResourceQuestion, 'verb' | 'apiGroup' | 'resource' | 'subresource'>;

/** Names of objects, if the rules are limited to some; the name of a request that names none is empty. */
export type Covered = 'all' | ReadonlySet<string>;

/** Texts of all rules together that are compared each time. */
const FEW = 64;

/** Must not change: another version of a role is another object. */
type RoleRules = Pick<StoredRole, 'rules'>;

export function roleAllows(role: RoleRules, question: Question): boolean {
  if ('path' in question || textsIn(role) <= FEW)
    return role.rules.some((rule) => ruleAllows(rule, question));
  const covered = coveredByRole(role, question);
  return covered === 'all' || covered.has(question.name);
}

export function coveredByRole(role: RoleRules, action: Action): Covered {
  if (textsIn(role) <= FEW) return coverage(role.rules, action);
  const asked = textOfAction(action);
  const known = lastOf.get(role);
  if (known?.asked === asked) return known.covered;
  const covered = coverage(role.rules, action);
  lastOf.set(role, { asked, covered });
  return covered;
}

/** Equal for equal actions only. */
export function textOfAction({ verb, apiGroup, resource, subresource }: Action): string {
  return JSON.stringify([verb, apiGroup, resource, subresource]);
}

/** What each role covers of the last action: it may take as much memory as the role. */
const lastOf = new WeakMap<RoleRules, { readonly asked: string; readonly covered: Covered }>();

const textsIn = memoizeByReference(({ rules }: RoleRules): number =>
  rules.reduce(
    (sum, { verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
      sum + 1 + verbs.length + apiGroups.length + resources.length + resourceNames.length,
    0,
  ),
);

function coverage(rules: readonly PolicyRule[], action: Action): Covered {
  const names = new Set<string>();
  for (const rule of rules) {
    if (!verbMatches(rule, action.verb) || !resourceMatches(rule, action)) continue;
    const { resourceNames = [] } = rule;
    if (resourceNames.length === 0) return 'all';
    for (const name of resourceNames) names.add(name);
  }
  return names;
}
