/**
 * Keeps users from what is not only their tenant's: paths of other tenants, and custom resources that Arktos
 * stores once for all tenants.
 */

import { StatusError } from '../../errors/status-error.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import { accountOf, actingTenant } from '../../proxy/acting-tenant.ts';
import type { AuthorizationAttributes, Authorizer } from '../../proxy/authorizer.ts';
import type { DiscoveredResources } from '../../proxy/discovered-resources.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

/**
 * No user reaches another tenant by writing its full path, `tenants/all` included. The API server would
 * refuse too; asking it would only tell the user whether that tenant exists.
 */
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

export interface SharedResourcesOptions {
  readonly mayBeShared: NonNullable<TenancyMode['mayBeShared']>;
  readonly discovered: Pick<DiscoveredResources, 'resource'>;
  /** API groups that the operator lets tenants share. */
  readonly allowedGroups: ReadonlySet<string>;
}

/**
 * Whichever tenant defined such resources, each tenant could read, change and delete what the others have.
 * The tenant's own discovery says which these are.
 */
export function createSharedResources(options: SharedResourcesOptions): Authorizer {
  const { discovered, mayBeShared, allowedGroups } = options;

  async function check(info: ResourceRequest, attributes: AuthorizationAttributes): Promise<void> {
    const { signal } = attributes.exchange;
    const groupVersion = { group: info.apiGroup, version: info.apiVersion };
    const tenant = actingTenant(attributes);
    const found = await discovered.resource(
      tenant,
      groupVersion,
      info.resource,
      signal,
      accountOf(attributes),
    );
    // The API server answers 404 for a resource that does not exist.
    if (found === undefined || found.namespaced === true || found.tenanted === true) return;
    throw refused(info);
  }

  return {
    name: 'shared-resources',
    authorize(attributes) {
      const { info } = attributes;
      if (!info.isResourceRequest || !mayBeShared(info, actingTenant(attributes))) return undefined;
      if (allowedGroups.has(info.apiGroup)) return undefined;
      return check(info, attributes);
    },
  };
}

function refused({ apiGroup, resource, name }: ResourceRequest): StatusError {
  const subject = name === '' ? `${resource}.${apiGroup}` : `${resource}.${apiGroup} ${JSON.stringify(name)}`;
  return new StatusError(
    'ClusterScopeForbidden',
    `${subject} is forbidden: custom resources of scope "Cluster" are shared by all tenants; define them with scope: Tenant, or ask the operator to allow the group in tenancy.sharedAPIGroups`,
    { details: { ...(name === '' ? {} : { name }), group: apiGroup, kind: resource } },
  );
}
