/**
 * Keeps tenants from custom resources that Arktos stores once for all tenants, whichever tenant defined them:
 * each tenant could read, change and delete what the others have. The tenant's own discovery says which these
 * are.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import { accountOf, actingTenant } from '../../proxy/acting-tenant.ts';
import type { AuthorizationAttributes, Authorizer } from '../../proxy/authorizer.ts';
import type { DiscoveredResources } from '../../proxy/discovered-resources.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

export interface SharedResourcesOptions {
  readonly mayBeShared: NonNullable<TenancyMode['mayBeShared']>;
  readonly discovered: Pick<DiscoveredResources, 'resource'>;
  /** API groups that the operator lets tenants share. */
  readonly allowedGroups: ReadonlySet<string>;
}

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
    // What there is not, the API server answers with 404.
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
