/**
 * No user reaches another tenant by writing its full path, `tenants/all` included. The API server would
 * refuse too; asking it would only tell the user whether that tenant exists.
 */

import { forbidden } from '../../kubernetes/forbidden.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { actingTenant } from '../../proxy/acting-tenant.ts';
import type { Authorizer } from '../../proxy/authorizer.ts';

export interface TenantBoundaryOptions {
  /** Whether a tenant's users may act in every other. */
  readonly isSystem: (tenant: TenantName) => boolean;
}

export function createPathBoundary({ isSystem }: TenantBoundaryOptions): Authorizer {
  return {
    name: 'tenant-boundary',
    authorize(attributes) {
      const { info, user } = attributes;
      const tenant = actingTenant(attributes);
      if (!info.isResourceRequest || info.tenant === '' || info.tenant === tenant || isSystem(tenant))
        return undefined;
      const cause = `the path is of the tenant ${info.tenant}, the user of ${tenant}`;
      throw forbidden('TenantForbidden', info, user.username, info.tenant, cause);
    },
  };
}
