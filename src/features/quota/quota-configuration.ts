/**
 * The section `quota`: what each tenant may use of the cluster in all. docs/quota.md explains it.
 */
import { z } from 'zod';
import type { ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { resourceKind } from '../../kubernetes/resource-kind-schema.ts';
import { type Output, tenant } from '../../lib/schema-fields.ts';
import { keystoneLimitsSchema } from './keystone-limits-configuration.ts';
import { hardSchema } from './tenant-quota-v1alpha1.ts';

/** Their objects are not stored, or come and go with every request. */
function kindProblem({ group, resource }: ResourceKind): string | undefined {
  const isShort = group === 'events.k8s.io' || (group === '' && ['events', 'bindings'].includes(resource));
  return isShort ? 'is never counted' : undefined;
}

export const quotaSchema = z.strictObject({
  namespace: tenant
    .default('stonegate')
    .describe('The namespace of the TenantQuota objects; on Arktos, of the system tenant. It must exist.'),
  default: hardSchema.describe(
    'What a tenant may use without a TenantQuota of its own: names and quantities as in a ResourceQuota.',
  ),
  mode: z
    .enum(['enforce', 'warn'])
    .default('enforce')
    .describe('`warn`: what exceeds a quota is allowed, with a warning to the client.'),
  keystoneLimits: keystoneLimitsSchema
    .exactOptional()
    .describe('Quotas of tenants and projects from the limits in Keystone. Off without it.'),
  count: z
    .array(resourceKind({ namespaced: true, problem: kindProblem }))
    .default([])
    .describe(
      'Further kinds, as `GROUP/VERSION/RESOURCE`, whose objects are counted as `count/RESOURCE.GROUP`.',
    ),
});

export type QuotaConfiguration = Output<typeof quotaSchema>;
