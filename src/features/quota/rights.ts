/**
 * The rights at the API server that quotas need: the counter's, the admission webhook's, and the one to show
 * users the quota of their tenant.
 */

import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import { TENANCY_GROUP } from '../../kubernetes/custom-resource.ts';
import type { PolicyRule, ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { type Right, rule } from '../../kubernetes/right.ts';
import { COUNTED_KINDS } from './counted-writes.ts';

export const QUOTA_READ_RIGHTS: readonly Right[] = [
  {
    when: ['quota'],
    comment: 'The quota of a tenant, for its users.',
    consequence: '`kubectl get tenantquota` and `stonegate quota` fail for users of tenants',
    rule: rule(TENANCY_GROUP, ['tenantquotas'], ['get']),
  },
];

/** The ValidatingWebhookConfiguration that has what quotas count reviewed. */
export const QUOTA_REGISTRATION = 'stonegate-quota';

/** What the webhook needs to reserve: whose a namespace is, its ResourceQuotas, and the TenantQuotas. */
export const RESERVE_RULES: readonly PolicyRule[] = [
  rule('', ['namespaces'], ['get']),
  rule(TENANCY_GROUP, ['tenantquotas'], ['get']),
  rule(TENANCY_GROUP, ['tenantquotas/status'], ['update']),
  rule('', ['resourcequotas'], ['get', 'list', 'watch']),
];

/** What the provisioner needs besides: to give every tenant a quota, to count, and to check. */
export function quotaRules(count: readonly ResourceKind[]): PolicyRule[] {
  const byGroup = Map.groupBy([...COUNTED_KINDS, ...count], ({ group }) => group);
  return [
    ...RESERVE_RULES,
    rule(TENANCY_GROUP, ['tenantquotas'], ['get', 'list', 'watch', 'create', 'update']),
    rule('', ['namespaces'], ['get', 'list', 'watch', 'update']),
    {
      ...rule(VALIDATING_WEBHOOKS.group, [VALIDATING_WEBHOOKS.resource], ['get']),
      resourceNames: [QUOTA_REGISTRATION],
    },
    ...[...byGroup].map(([group, kinds]) =>
      rule(group, kinds.map(({ resource }) => resource).sort(), ['get', 'list', 'watch']),
    ),
  ];
}
