/**
 * Which forms of cross-tenant policies a configuration has: none where no path names another tenant, since a
 * RoleBinding does the same there.
 */

import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import { KINDS } from '../../kubernetes/kubernetes-object.ts';
import type { GroupResource } from '../../kubernetes/meta-v1.ts';
import type { AuthorizationConfiguration } from './authorization-configuration.ts';
import { CROSS_TENANT_POLICIES, TENANT_ADMINISTRATIONS } from './tenancy-v1alpha1.ts';

/** Which forms of policies a configuration has. */
export type EnabledPolicies = {
  readonly abac: boolean;
  readonly crossTenantPolicies: boolean;
  /** The administrations of the configuration. */
  readonly administrations: boolean;
  readonly tenantAdministrations: boolean;
};

export function enabledPolicies({
  authorization,
  tenancy,
}: {
  readonly authorization: AuthorizationConfiguration;
  readonly tenancy: TenancyConfiguration;
}): EnabledPolicies {
  const { hasTenantsInPaths } = tenancy.facts;
  return {
    abac: hasTenantsInPaths && authorization.abacPolicyFile !== undefined,
    crossTenantPolicies: hasTenantsInPaths && authorization.crossTenantPolicies,
    administrations: hasTenantsInPaths && authorization.administrations.length > 0,
    tenantAdministrations: hasTenantsInPaths && authorization.tenantAdministrations,
  };
}

/** What is listed and watched for them: also whether the admission webhook has checked their authors. */
export function resourcesOfPolicies({
  abac,
  administrations,
  tenantAdministrations,
  crossTenantPolicies,
}: EnabledPolicies): GroupResource[] {
  const hasAdministrations = administrations || tenantAdministrations;
  return [
    ...(abac || hasAdministrations || crossTenantPolicies ? [KINDS.Tenant] : []),
    ...(hasAdministrations ? [KINDS.ClusterRole] : []),
    ...(tenantAdministrations ? [TENANT_ADMINISTRATIONS] : []),
    ...(crossTenantPolicies ? [CROSS_TENANT_POLICIES, VALIDATING_WEBHOOKS] : []),
  ];
}

export function hasPolicies(enabled: EnabledPolicies): boolean {
  return Object.values(enabled).includes(true);
}
