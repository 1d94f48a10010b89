/**
 * Each privileged call of Stonegate's own API needs a right that the API server reviews, by the names of
 * the call itself. An explanation contains causes that clients may not see, so it is reviewed outside every
 * tenant: a wildcard in a tenant's own role does not grant it. The others are bounded by the user's tenant.
 */

import { type AccessReviewer, isAllowed } from '../../kubernetes/access-reviewer.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { ResourceRequest, TenantName } from '../../kubernetes/request-info.ts';
import { actingTenant, reviewSubject } from '../../proxy/acting-tenant.ts';
import type { AuthorizationAttributes, Authorizer } from '../../proxy/authorizer.ts';
import { OWN_GROUP, type OwnResource } from '../../proxy/own-api.ts';
import type { ReasonOf } from '../../proxy/rbac-reasons.ts';

export interface OwnAPIRightsOptions {
  readonly resources: readonly OwnResource[];
  readonly reviewer: AccessReviewer;
  /** The tenant named in access reviews; undefined if the API server has no tenants. */
  readonly reviewTenant: (tenant: TenantName) => TenantName | undefined;
  /** Why RBAC does not allow the request; absent without the RBAC index. */
  readonly reasonOf?: ReasonOf | undefined;
  readonly isSystem: (tenant: TenantName) => boolean;
}

export function createOwnAPIRights(options: OwnAPIRightsOptions): Authorizer {
  const { reviewer, reviewTenant, isSystem, reasonOf } = options;
  const places = new Map(options.resources.map(({ name, right }) => [name, right]));
  async function review(info: ResourceRequest, inTenant: boolean, attributes: AuthorizationAttributes) {
    const { user, exchange } = attributes;
    const tenant = actingTenant(attributes);
    const { apiGroup: group, apiVersion: version, resource, verb, namespace } = info;
    const subject = reviewSubject(attributes, reviewTenant);
    const place = inTenant || isSystem(tenant) ? subject.home : undefined;
    const resourceAttributes = {
      verb,
      group,
      version,
      resource,
      ...(namespace === '' ? {} : { namespace }),
      ...(place === undefined ? {} : { tenant: place }),
    };
    if (await isAllowed(reviewer, subject, { resourceAttributes }, exchange.signal)) return;
    const note = inTenant ? reasonOf?.({ ...attributes, info }, false) : undefined;
    throw forbidden('AccessDenied', info, user.username, inTenant ? place : undefined, undefined, note);
  }

  return {
    name: 'own-api-rights',
    authorize(attributes) {
      const { info } = attributes;
      if (!info.isResourceRequest || info.apiGroup !== OWN_GROUP) return undefined;
      const place = places.get(info.resource);
      return place === undefined ? undefined : review(info, place === 'tenant', attributes);
    },
  };
}
