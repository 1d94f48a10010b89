/**
 * Tenancy mode `arktos`: a tenant is a path segment, and an impersonated user's tenant is what stands before
 * the first colon of their name.
 */

import { StatusError } from '../errors/status-error.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { GUEST_PREFIX } from '../kubernetes/reserved-names.ts';
import { assertNoGuestName, nameWithin, prefixOf } from './arktos-names.ts';
import {
  CLUSTER_SCOPED,
  CLUSTER_SCOPED_GROUPS,
  isBuiltIn,
  isWithinTenant,
  ownTenantRoute,
  READABLE,
  systemRoute,
  tenantRoute,
} from './arktos-route.ts';
import { createTenantResolver } from './domains.ts';
import { type Addition, finishedUser, type NamedIdentity, userOrNamed } from './finished-user.ts';
import { createGuestRules } from './guests.ts';
import { nameBelow, reservedName } from './impersonation-target.ts';
import type { TenancyMode } from './tenancy-mode.ts';

export interface ArktosOptions {
  /** The tenant whose users act in every tenant. */
  readonly systemTenant: string;
  /** Keystone domain name → tenant. */
  readonly domains: Readonly<Record<string, string>>;
  /** Whether users may read the Tenant object of their tenant, reduced; false if absent. */
  readonly showsOwnTenant?: boolean;
}

/**
 * To Arktos this is no tenant but the union of them all, RBAC bindings included: no identity ever gets it.
 */
const EVERY_TENANT = 'all';

/** @throws Error if `domains` gives two domains one tenant */
export function createArktosMode({
  systemTenant,
  domains,
  showsOwnTenant = false,
}: ArktosOptions): TenancyMode {
  const resolve = createTenantResolver({
    domains,
    reserved: new Set(['system', EVERY_TENANT, systemTenant]),
  });
  const isSystem = (tenant: TenantName) => tenant === systemTenant;

  return {
    name: 'arktos',
    readsTenantFromPath: true,
    hiddenResources: CLUSTER_SCOPED,
    readableResources: showsOwnTenant ? READABLE : new Map(),
    hiddenGroups: CLUSTER_SCOPED_GROUPS,
    watchEvents: 'filtered',
    protobuf: 'asJSON',
    watchLists: 'refused',
    listsAtRevision: false,
    isSystem,
    reviewTenant: (tenant) => tenant,
    isClusterWide: (_info, tenant) => isSystem(tenant),
    mayBeShared: (info, tenant) => !isBuiltIn(info.apiGroup, info.resource) && !isSystem(tenant),
    isWithinTenant: (path, tenant) => isSystem(tenant) || isWithinTenant(path, tenant),
    tenantOf(identity) {
      const tenant = resolve(identity.tenantOrigin);
      if (tenant === EVERY_TENANT)
        throw new StatusError(
          'TenantUnknown',
          `the name "${EVERY_TENANT}" stands for every tenant and is none`,
        );
      return tenant;
    },
    userOf(identity, tenant) {
      assertNoGuestName(identity);
      return userOrNamed(identity, (named) => finishedUser(named, nameIn(tenant, isSystem(tenant), named)));
    },
    guests: createGuestRules(systemTenant),
    // Service accounts are of the system tenant here, so none is a tenant's.
    impersonationTarget: (wanted, tenant) => ({
      username: nameInTenant(tenant, wanted, isSystem(tenant)),
      groups: [],
      extra: {},
    }),
    route(info, method, tenant, user) {
      if (isSystem(tenant)) return systemRoute(info);
      const ownTenant = showsOwnTenant ? ownTenantRoute(info, method, tenant) : undefined;
      return ownTenant ?? tenantRoute(info, method, tenant, user);
    },
  };
}

/** @throws StatusError ImpersonationForbidden or IdentityUnusable */
function nameInTenant(tenant: TenantName, wanted: string, systemUser: boolean): string {
  const prefix = prefixOf(tenant, systemUser);
  const name = nameBelow(prefix, wanted, systemUser);
  if (name.startsWith(GUEST_PREFIX, prefix.length)) throw reservedName(wanted);
  return name;
}

function nameIn(tenant: TenantName, systemUser: boolean, identity: NamedIdentity): Addition {
  return { username: `${prefixOf(tenant, systemUser)}${nameWithin(identity)}`, systemUser };
}
