/**
 * The tenancy mode that a configuration asks for.
 */
import type { AuthenticationConfiguration, TenancyConfiguration } from '../api/config-v1alpha1.ts';
import { usernamePrefixesOf } from '../config/validate-names.ts';
import { createArktosMode } from '../tenancy/arktos.ts';
import { createSharedMode } from '../tenancy/shared.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';

export function tenancyModeOf(
  tenancy: TenancyConfiguration,
  authentication: AuthenticationConfiguration,
): TenancyMode {
  switch (tenancy.mode) {
    case 'arktos':
      return createArktosMode(tenancy);
    case 'shared':
      return createSharedMode({
        domains: tenancy.domains,
        looksUpRoles: authentication.keystone?.roleAssignments !== undefined,
        reservedNamePrefixes: usernamePrefixesOf(authentication),
      });
  }
}
