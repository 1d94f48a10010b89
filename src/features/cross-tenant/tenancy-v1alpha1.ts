/**
 * The custom resources of the group `tenancy.stonegate.dev/v1alpha1`, as the API server stores them. Their
 * CRDs are printed by `stonegate manifests crds`; docs/tenants.md explains them. Schemas are strict: a field
 * that is not known here may restrict what the others mean, so an object with one grants nothing.
 */
import { z } from 'zod';
import {
  type CustomResource,
  column,
  type TENANCY_API_VERSION,
  TENANCY_GROUP,
  TENANCY_VERSION,
} from '../../kubernetes/custom-resource.ts';
import { CRD_SHARING_POLICY, type NamedObjectMeta } from '../../kubernetes/kubernetes-object.ts';
import type { Output } from '../../lib/schema-fields.ts';
import { MAX_ITEMS } from '../../rbac/invalid-policy.ts';
import { conditionSchema } from '../status-conditions.ts';

/**
 * The ValidatingWebhookConfiguration that has CrossTenantPolicies reviewed. It is an object of its own, since
 * its age says which policies were reviewed.
 */
export const POLICY_REGISTRATION = 'stonegate-policies';

export const MAX_NAME_LENGTH = 512;

const name = z.string().max(MAX_NAME_LENGTH);
const names = z.array(name).max(MAX_ITEMS);
/** RFC 3339. */
const time = z.string().meta({ format: 'date-time' });

const policyStatusSchema = z.strictObject({
  conditions: z
    .array(conditionSchema)
    .exactOptional()
    .describe('Ready: whether it is in force; if not, the reason says why.'),
});

const subject = z.strictObject({
  kind: z.enum(['User', 'Group']).describe('User or Group.'),
  tenant: name.describe('The tenant to which the user belongs: another one than this.'),
  name: name.describe(
    'Of a user: the name within the tenant, or * for every user of the tenant. Of a group: its name.',
  ),
});

const rule = z.strictObject({
  apiGroups: names.describe('Names of API groups; the core group is the empty text.'),
  resources: names.describe('Names of resources, with the subresource if one is meant: pods, pods/log.'),
  resourceNames: names.exactOptional().describe('Names of objects; without it, all.'),
  verbs: names.describe('get, list, watch, create, update, patch, delete or deletecollection.'),
});

export const crossTenantPolicySpecSchema = z.strictObject({
  subjects: z
    .array(subject)
    .min(1)
    .max(MAX_ITEMS)
    .describe('The users and groups that the policy lets into this tenant.'),
  namespaces: names
    .min(1)
    .describe('Names of namespaces of this tenant; or * alone for all, and for what has no namespace.'),
  rules: z
    .array(rule)
    .min(1)
    .max(MAX_ITEMS)
    .describe('What they may do: nothing that the author may not do. No * anywhere.'),
  notAfter: time.exactOptional().describe('When the policy ends; it has no end without it.'),
});

const tenantSelection = z
  .strictObject({
    names: names
      .exactOptional()
      .describe('Names of tenants; or * alone for every tenant but the system tenant.'),
    matchLabels: z
      .record(z.string(), z.string())
      .exactOptional()
      .describe('Labels that the Tenant objects must have.'),
    domains: names.exactOptional().describe('Names of Keystone domains whose tenants are meant.'),
  })
  .meta({ minProperties: 1, description: 'Which tenants; all conditions that are set must hold.' });

export const tenantAdministrationSpecSchema = z.strictObject({
  groups: names.min(1).describe('Groups whose members administer the tenants.'),
  domain: name.exactOptional().describe('The Keystone domain of the members; without it, the system tenant.'),
  tenants: tenantSelection,
  clusterRole: name.describe('What they may do there: a ClusterRole of Stonegate or of the system tenant.'),
  notAfter: time.exactOptional().describe('When the administration ends.'),
  reason: name.describe('Why, for audit events.'),
});

const READY = '.status.conditions[?(@.type=="Ready")]';
const COMMON_COLUMNS = [
  column('Ready', `${READY}.status`),
  column('Reason', `${READY}.reason`),
  column('Until', '.spec.notAfter'),
  column('Age', '.metadata.creationTimestamp', 'date'),
];

const COMMON = {
  group: TENANCY_GROUP,
  version: TENANCY_VERSION,
  namespaced: false,
  status: policyStatusSchema,
} as const;

export const CROSS_TENANT_POLICIES: CustomResource = {
  ...COMMON,
  resource: 'crosstenantpolicies',
  kind: 'CrossTenantPolicy',
  shortName: 'ctp',
  description: 'Lets users of other tenants into the tenant of the object.',
  // With this spelling its objects work in every tenant, and tenants can still be deleted: the tenant
  // controller would wait for ever for a definition that is labelled `forced`.
  labels: { [CRD_SHARING_POLICY]: 'Forced' },
  spec: crossTenantPolicySpecSchema,
  columns: COMMON_COLUMNS,
};

export const TENANT_ADMINISTRATIONS: CustomResource = {
  ...COMMON,
  resource: 'tenantadministrations',
  kind: 'TenantAdministration',
  shortName: 'tadm',
  description: 'Lets groups administer a set of tenants. An object of the system tenant.',
  spec: tenantAdministrationSpecSchema,
  columns: [column('Role', '.spec.clusterRole'), ...COMMON_COLUMNS],
};

export type CrossTenantRule = Output<typeof rule>;
export type CrossTenantSubject = Output<typeof subject>;
export type TenantSelection = Output<typeof tenantSelection>;

interface PolicyObject<Kind, Spec extends z.ZodType> {
  readonly apiVersion: typeof TENANCY_API_VERSION;
  readonly kind: Kind;
  readonly metadata: NamedObjectMeta;
  readonly spec: Output<Spec>;
  readonly status?: Output<typeof policyStatusSchema>;
}

/**
 * Written by a tenant's administrator in their own tenant: lets users of other tenants into this one. Scope
 * `Tenant`.
 */
export type CrossTenantPolicy = PolicyObject<'CrossTenantPolicy', typeof crossTenantPolicySpecSchema>;

/** Groups administer a set of tenants. The object is the system tenant's, with scope `Tenant`. */
export type TenantAdministration = PolicyObject<
  'TenantAdministration',
  typeof tenantAdministrationSpecSchema
>;
