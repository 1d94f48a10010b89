/**
 * The tenant in which a request acts: the user's own, or the one that a guest has entered. The request is
 * always charged to the user's own tenant.
 */

import type { ReviewSubject } from '../kubernetes/access-reviewer.ts';
import type { ResourceAttributes } from '../kubernetes/authorization-v1.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import type { Account } from '../kubernetes/upstream-request.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';

export interface TenantOfRequest {
  /** The user's own: limits, queues and connections are charged to it. */
  readonly tenant: TenantName;
  /** Present if the user has entered another tenant. */
  readonly crossing?: { readonly tenant: TenantName };
}

/** The tenant in which paths are written, discovery is shown and rights are reviewed. */
export function actingTenant({ tenant, crossing }: TenantOfRequest): TenantName {
  return crossing?.tenant ?? tenant;
}

/** The account that a request is charged to: the tenant's, or that of all its guests in other tenants. */
export function accountOf({ tenant, crossing }: TenantOfRequest): Account {
  return crossing === undefined ? { kind: 'tenant', tenant } : { kind: 'tenant', tenant, guests: true };
}

/**
 * The tenant that a review of a right names. A cluster-scoped resource is in no tenant: a wildcard in a
 * tenant's role does not cover it.
 *
 * @param tenant in which the request acts
 * @param named in the request; else it is about the tenant itself
 */
export function reviewPlace(
  { isSystem, hiddenResources, reviewTenant }: ReviewRules,
  tenant: TenantName,
  { group = '', resource = '' }: Pick<ResourceAttributes, 'group' | 'resource'>,
  named?: TenantName,
): TenantName | undefined {
  const isHidden = !isSystem(tenant) && hiddenResources.has(`${group}/${resource}`);
  return isHidden ? undefined : (named ?? reviewTenant(tenant));
}

type ReviewRules = Pick<TenancyMode, 'isSystem' | 'hiddenResources' | 'reviewTenant'>;

/**
 * The user of a request as the subject of reviews.
 *
 * @param reviewTenant the tenant named in access reviews; undefined if the API server has no tenants
 */
export function reviewSubject(
  request: TenantOfRequest & Pick<ReviewSubject, 'user' | 'sender'>,
  reviewTenant: (tenant: TenantName) => TenantName | undefined,
): ReviewSubject {
  const { user, sender } = request;
  return { user, sender, home: reviewTenant(actingTenant(request)), account: accountOf(request) };
}
