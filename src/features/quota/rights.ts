/**
 * The rights at the API server that quotas need: the counter's, the admission webhook's, and the one to show
 * users the quota of their tenant.
 */

import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import { TENANCY_GROUP } from '../../kubernetes/custom-resource.ts';
import { type ProvisionerRight, type Right, rule } from '../../kubernetes/right.ts';
import { COUNTED_KINDS } from './counted-writes.ts';

export const QUOTA_READ_RIGHTS: readonly Right[] = [
  {
    when: ['quota'],
    comment: 'The quota of a tenant, for its users.',
    consequence: '`kubectl get tenantquota` and `stonegate quota` fail for users of tenants',
    rule: rule(TENANCY_GROUP, 'tenantquotas', 'get'),
  },
];

/** The ValidatingWebhookConfiguration that has what quotas count reviewed. */
export const QUOTA_REGISTRATION = 'stonegate-quota';

/** What the webhook needs to reserve: whose a namespace is, its ResourceQuotas, and the TenantQuotas. */
export const RESERVE_RIGHTS: readonly Right[] = [
  rule('', 'namespaces', 'get'),
  rule(TENANCY_GROUP, 'tenantquotas', 'get'),
  rule(TENANCY_GROUP, 'tenantquotas/status', 'update'),
  rule('', 'resourcequotas', 'get list watch'),
].map((rule) => ({ when: ['quota'], rule }));

/** The provisioner needs these in addition: it gives every tenant a quota, counts, and checks. */
export const COUNT_RIGHTS: readonly ProvisionerRight[] = [
  {
    when: ['quota'],
    rule: rule(TENANCY_GROUP, 'tenantquotas', 'get list watch create update'),
  },
  { when: ['quota'], rule: rule('', 'namespaces', 'get list watch update') },
  {
    when: ['quota'],
    rule: {
      ...rule(VALIDATING_WEBHOOKS.group, VALIDATING_WEBHOOKS.resource, 'get'),
      resourceNames: [QUOTA_REGISTRATION],
    },
  },
  { when: ['quota'], kinds: COUNTED_KINDS, kindsAt: ['quota.count.*'], verbs: ['get', 'list', 'watch'] },
];
