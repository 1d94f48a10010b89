/**
 * The section `quota`: what each tenant may use of the cluster in all. docs/quota.md explains it.
 */
import { z } from 'zod';
import { KINDS, type ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';
import { resourceKind } from '../../kubernetes/resource-kind-schema.ts';
import { isLimiting } from '../../kubernetes/resource-quota/object-usage.ts';
import { type Output, tenant, unique } from '../../lib/schema-fields.ts';
import { keystoneLimitsSchema } from '../keystone-limits/feature.ts';
import { COUNTED_KINDS } from './counted-writes.ts';
import { hardSchema } from './tenant-quota-v1alpha1.ts';

const COUNTED: readonly string[] = [...COUNTED_KINDS, KINDS.Namespace].map(resourceName);
/** Their objects are not stored, or come and go with every request. */
const UNCOUNTED = ['events', 'events.events.k8s.io', 'bindings'];

function kindProblem(kind: ResourceKind): string | undefined {
  const name = resourceName(kind);
  if (UNCOUNTED.includes(name)) return 'is never counted';
  return COUNTED.includes(name) ? 'is counted anyway' : undefined;
}

const NAME = 'a name of a quota that is counted: pods, requests.cpu, count/KIND for each kind of quota.count';

const sections = z.strictObject({
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
    .superRefine(unique('each kind once', resourceName))
    .default([])
    .describe(
      'Further kinds, as `GROUP/VERSION/RESOURCE`, whose objects are counted as `count/RESOURCE.GROUP`.',
    ),
});

/** A name that limits nothing is a mistake. */
export const quotaSchema = sections.superRefine(({ default: hard, count }, context) => {
  const counted = new Set([...COUNTED, ...count.map(resourceName)]);
  for (const name of Object.keys(hard))
    if (!isLimiting(name, counted))
      context.addIssue({
        code: 'custom',
        message: NAME,
        path: ['default', name],
        params: { found: JSON.stringify(name) },
      });
});

export type QuotaConfiguration = Output<typeof quotaSchema>;
