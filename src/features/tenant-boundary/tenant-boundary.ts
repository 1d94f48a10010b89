/**
 * No user reaches another tenant by writing its full path, `tenants/all` included. The API server would
 * refuse too; asking it would only tell the user whether that tenant exists.
 */

import { forbidden } from '../../kubernetes/forbidden.ts';
import { actingTenant } from '../../proxy/acting-tenant.ts';
import type { Authorizer } from '../../proxy/authorizer.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

export function createPathBoundary({ isSystem }: Pick<TenancyMode, 'isSystem'>): Authorizer {
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
