/**
 * The rules of a user from the RBAC index, in the form of a SelfSubjectRulesReview.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/
 */

import type { SelfSubjectRulesReview } from '../../kubernetes/authorization-v1.ts';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import type { StoredRole } from '../../kubernetes/rbac-v1.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { incompleteRulesReason, type RulesTrust } from '../../rbac/access-index.ts';
import { grantsOf } from '../../rbac/decide.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

export type RulesStatus = NonNullable<SelfSubjectRulesReview['status']>;
type ResourceRule = RulesStatus['resourceRules'][number];

/**
 * The rules of a tenant's user, whom the API server does not let create reviews, each role's once. They are
 * complete unless the index leaves something out or another authorizer may decide, since nothing outside the
 * tenant counts. As in kube-apiserver a role that is missing is an evaluation error, and leaves the rules
 * complete.
 *
 * @returns undefined if the index does not know them
 */
export function indexedRules(
  { user, tenant, sender }: Outgoing,
  namespace: string,
  mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>,
  trust: RulesTrust | undefined,
): RulesStatus | undefined {
  const home = mode.reviewTenant(tenant);
  if (trust === undefined || home === undefined || mode.isSystem(tenant)) return undefined;
  if (trust.access.state(home) !== 'current') return undefined;
  // A user with their own token may be another one than the index knows by the name.
  if (sender.kind === 'client') return undefined;
  const subject = { tenant: home, username: user.username, groups: user.groups, home: tenant };
  const missing = new Set<string>();
  const roles = new Set<StoredRole>();
  for (const { role } of grantsOf(trust.access.index.objectsOf(home), subject, namespace, missing))
    roles.add(role);
  let left = MAX_RULES_BYTES;
  const known = [...roles].filter(({ rules }) => {
    if (left >= 0) left -= JSON.stringify(rules).length;
    return left >= 0;
  });
  const incompleteReason = left < 0 ? TOO_MANY : incompleteRulesReason(home, { namespace }, trust);
  const errors = [
    ...(incompleteReason === undefined ? [] : [incompleteReason]),
    ...[...missing].slice(0, MAX_MISSING),
  ];
  return {
    resourceRules: known.flatMap(({ rules }) => rules.flatMap(resourceRuleOf)),
    nonResourceRules: [],
    incomplete: incompleteReason !== undefined,
    ...(errors.length > 0 && { evaluationError: aggregated(errors) }),
  };
}

/** Of JSON that one review holds. */
export const MAX_RULES_BYTES = 1024 * 1024;
export const TOO_MANY = "the user's rules in the namespace are more than one review holds";
/** Missing roles that are named at most. */
const MAX_MISSING = 100;

export function resourceRuleOf({
  verbs,
  apiGroups = [],
  resources,
  resourceNames,
}: PolicyRule): ResourceRule[] {
  return resources === undefined
    ? []
    : [{ verbs, apiGroups, resources, ...(resourceNames && { resourceNames }) }];
}

/** Writes several errors in one, as the API server does. */
export function aggregated(errors: readonly string[]): string {
  return errors.length === 1 ? errors.join() : `[${errors.join(', ')}]`;
}
