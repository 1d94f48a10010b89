/**
 * Which forms of cross-tenant policies a configuration has: in shared mode none, a RoleBinding does the same.
 */
import type { EnabledPolicies } from '../api/config-access-v1alpha1.ts';
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';

export function enabledPolicies({
  authorization,
  tenancy,
}: Pick<StonegateConfiguration, 'authorization' | 'tenancy'>): EnabledPolicies {
  const isArktos = tenancy.mode === 'arktos';
  return {
    abac: isArktos && authorization.abacPolicyFile !== undefined,
    crossTenantPolicies: isArktos && authorization.crossTenantPolicies,
    administrations: isArktos && authorization.administrations.length > 0,
    tenantAdministrations: isArktos && authorization.tenantAdministrations,
  };
}

export function hasPolicies(enabled: EnabledPolicies): boolean {
  return Object.values(enabled).includes(true);
}
