/**
 * TenantQuota of `tenancy.stonegate.dev/v1alpha1`: what a tenant may use in all its namespaces, and what it
 * uses. The object is the operator's, and is named like the tenant; names and quantities are those of
 * ResourceQuota.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */

import { z } from 'zod';
import {
  type CustomResource,
  column,
  TENANCY_API_VERSION,
  TENANCY_GROUP,
  TENANCY_VERSION,
} from '../../kubernetes/custom-resource.ts';
import type { NamedObjectMeta } from '../../kubernetes/kubernetes-object.ts';
import { isMeta, metadataOf } from '../../kubernetes/object-format.ts';
import type { Output } from '../../lib/schema-fields.ts';
import { conditionSchema } from '../status-conditions.ts';

/** A quantity that is not negative; the number of digits is bounded. */
const QUANTITY = /^[0-9]{1,18}(\.[0-9]{1,9})?(m|[kMGTPE]|[KMGTPE]i)?$/;

const quantities = (value: z.ZodType<string>) => z.record(z.string(), value);

export const hardSchema = quantities(
  z.string().regex(QUANTITY, { error: 'a quantity such as 10, 500m or 20Gi' }),
);

export const tenantQuotaSpecSchema = z.strictObject({
  hard: hardSchema.describe(
    'The most that the tenant may use, by the names of ResourceQuota: pods, requests.cpu, limits.memory, requests.storage, services, namespaces, count/deployments.apps. What is not named is not limited.',
  ),
});

const formerReservationSchema = z.object({
  uid: z.string(),
  usage: quantities(z.string()),
  seen: quantities(z.string()).exactOptional(),
});

export const tenantQuotaStatusSchema = z.object({
  used: quantities(z.string())
    .exactOptional()
    .describe('What the stored objects use. Absent until they were counted once.'),
  ledger: z
    .string()
    .exactOptional()
    .describe('What was admitted and may not be counted yet: a line for each object.'),
  reservations: z
    .array(formerReservationSchema)
    .exactOptional()
    .describe('What a release before the ledger admitted. It is moved there.'),
  summary: z.string().exactOptional().describe('Used and hard in one line.'),
  conditions: z
    .array(conditionSchema)
    .exactOptional()
    .describe('Ready: whether all that hard names is counted; if not, the message says what is not.'),
  revisions: z
    .record(z.string(), z.string())
    .exactOptional()
    .describe('The revision of each kind up to which objects are counted.'),
});

export type TenantQuotaStatus = Output<typeof tenantQuotaStatusSchema>;

export interface TenantQuota {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: NamedObjectMeta;
  readonly spec: Output<typeof tenantQuotaSpecSchema>;
  readonly status: TenantQuotaStatus;
}

export const TENANT_QUOTAS: CustomResource = {
  group: TENANCY_GROUP,
  version: TENANCY_VERSION,
  resource: 'tenantquotas',
  namespaced: true,
  kind: 'TenantQuota',
  description:
    'What a tenant may use of the cluster. Named like the tenant, in the namespace of the operator.',
  spec: tenantQuotaSpecSchema,
  status: tenantQuotaStatusSchema,
  columns: [
    column('Used', '.status.summary'),
    column('Problem', '.status.conditions[?(@.status=="False")].message'),
    column('Age', '.metadata.creationTimestamp', 'date'),
  ],
};

const contentSchema = z.object({
  spec: z.object({ hard: quantities(z.string()) }),
  status: tenantQuotaStatusSchema.optional(),
});

/** @returns undefined for an object that does not fit the definition: it was stored before it */
export function readTenantQuota(object: unknown): TenantQuota | undefined {
  const metadata = metadataOf(object);
  const { data } = contentSchema.safeParse(object);
  if (data === undefined || !isMeta(metadata)) return undefined;
  const { spec, status = {} } = data;
  return { apiVersion: TENANCY_API_VERSION, kind: 'TenantQuota', metadata, spec, status };
}
