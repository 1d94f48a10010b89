/**
 * The custom resources of cross-tenant policies and administrations.
 */
import { type CustomResource, column } from '../../kubernetes/custom-resource.ts';
import { CRD_SHARING_POLICY } from '../../kubernetes/kubernetes-object.ts';
import {
  crossTenantPolicySpecSchema,
  policyStatusSchema,
  TENANCY_GROUP,
  TENANCY_VERSION,
  tenantAdministrationSpecSchema,
} from './tenancy-v1alpha1.ts';

const READY = '.status.conditions[?(@.type=="Ready")]';
const COMMON_COLUMNS = [
  column('Ready', `${READY}.status`),
  column('Reason', `${READY}.reason`),
  column('Until', '.spec.notAfter'),
  column('Age', '.metadata.creationTimestamp', 'date'),
];

/**
 * Spelled so, its objects work in every tenant, and tenants can still be deleted: the tenant controller would
 * wait for ever for a definition that is labelled `forced`.
 */
const SHARED = { [CRD_SHARING_POLICY]: 'Forced' };

const COMMON = {
  group: TENANCY_GROUP,
  version: TENANCY_VERSION,
  scope: 'Tenant',
  status: policyStatusSchema,
} as const;

export const POLICY_DEFINITIONS: readonly CustomResource[] = [
  {
    ...COMMON,
    kind: 'CrossTenantPolicy',
    shortName: 'ctp',
    description: 'Lets users of other tenants into the tenant of the object.',
    labels: SHARED,
    spec: crossTenantPolicySpecSchema,
    columns: COMMON_COLUMNS,
  },
  {
    ...COMMON,
    kind: 'TenantAdministration',
    shortName: 'tadm',
    description: 'Lets groups administer a set of tenants. An object of the system tenant.',
    spec: tenantAdministrationSpecSchema,
    columns: [column('Role', '.spec.clusterRole'), ...COMMON_COLUMNS],
  },
];
