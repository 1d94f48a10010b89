/**
 * The tenancy mode of a configuration.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { usernamePrefixesOf } from '../config/validate-names.ts';
import { createArktosMode } from '../tenancy/arktos.ts';
import { createSharedMode } from '../tenancy/shared.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';

export function createTenancyMode({ tenancy, authentication, access }: StonegateConfiguration): TenancyMode {
  switch (tenancy.mode) {
    case 'arktos':
      return createArktosMode({ ...tenancy, showsOwnTenant: access.index });
    case 'shared':
      return createSharedMode({
        domains: tenancy.domains,
        looksUpRoles: authentication.keystone?.roleAssignments !== undefined,
        filtersResponses: access.index && access.selfReviews !== 'none',
        reservedNamePrefixes: usernamePrefixesOf(authentication),
      });
  }
}
