/**
 * The rules of a user from the RBAC index, in the form of a SelfSubjectRulesReview.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/
 */
import type { AccessIndex } from '../../access/ports.ts';
import type { SelfSubjectRulesReview } from '../../api/authorization-v1.ts';
import { uniformSubject } from '../../rbac/attributes.ts';
import { rulesOf } from '../../rbac/decide.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { Outgoing } from '../request-context.ts';

type RulesStatus = NonNullable<SelfSubjectRulesReview['status']>;

/**
 * The rules of a tenant's user, whom the API server does not let create reviews: from the index they are
 * complete, since nothing outside the tenant counts.
 *
 * @returns undefined if the index does not know them
 */
export function indexedRules(
  { user, tenant, sender }: Outgoing,
  namespace: string,
  mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>,
  access: AccessIndex | undefined,
): RulesStatus | undefined {
  const home = mode.reviewTenant(tenant);
  if (access?.state() !== 'current' || home === undefined || mode.isSystem(tenant)) return undefined;
  // By name it could be another user.
  if (sender.kind === 'client') return undefined;
  const subject = { tenant: home, username: user.username, groups: user.groups };
  if (access.index.isPartialFor(uniformSubject(subject))) return undefined;
  const found = rulesOf(access.index.objectsOf(home), subject, namespace, new Set());
  const resourceRules = found.flatMap(({ rule: { verbs, apiGroups, resources, resourceNames } }) =>
    resources === undefined
      ? []
      : [{ verbs, apiGroups: apiGroups ?? [], resources, ...(resourceNames && { resourceNames }) }],
  );
  return { resourceRules, nonResourceRules: [], incomplete: false };
}
