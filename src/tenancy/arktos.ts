/**
 * Tenancy mode `arktos`: a tenant is a path segment, and an impersonated user's tenant is what stands before
 * the first colon of their name. Two sources never give the same name, and none gives a guest's.
 */

import { refusedName, StatusError } from '../errors/status-error.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { GUEST_PREFIX, GUESTS_GROUP, isEnterable } from '../kubernetes/reserved-names.ts';
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
import { TENANCY_FACTS } from './facts.ts';
import { finishedUser, type NamedIdentity, namedOf, userOrNamed } from './finished-user.ts';
import type { Identity } from './identity.ts';
import { nameBelow, reservedName } from './impersonation-target.ts';
import { EVERY_TENANT } from './places.ts';
import type { GuestRules, TenancyMode } from './tenancy-mode.ts';
import { assertUsable, DELEGATION_WORDS, escapeNamePart, nameInDomain } from './user-name.ts';

export interface ArktosOptions {
  /** The tenant whose users act in every tenant. */
  readonly systemTenant: string;
  /** Keystone domain name → tenant. */
  readonly domains: Readonly<Record<string, string>>;
  /** Whether users may read the Tenant object of their tenant, reduced; false if absent. */
  readonly showsOwnTenant?: boolean;
}

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
    facts: TENANCY_FACTS.arktos,
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
        throw new StatusError('TenantUnknown', `the name "${EVERY_TENANT}" means every tenant and is none`);
      return tenant;
    },
    userOf(identity, tenant) {
      assertNoGuestName(identity);
      const systemUser = isSystem(tenant);
      return userOrNamed(identity, TENANCY_FACTS.arktos, (named) =>
        finishedUser(named, { username: `${prefixOf(tenant, systemUser)}${nameWithin(named)}`, systemUser }),
      );
    },
    guests: createGuestRules(systemTenant),
    // Service accounts are of the system tenant here, so none is a tenant's.
    impersonationTarget: (wanted, tenant) => ({
      username: nameInTenant(tenant, wanted, isSystem(tenant)),
      groups: [],
      extra: {},
    }),
    memberName: (wanted, tenant) => nameInTenant(tenant, wanted, isSystem(tenant)),
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

/** The prefix of the names of a tenant's users. */
function prefixOf(tenant: TenantName, systemUser: boolean): string {
  // The second word keeps Keystone's users apart from the cluster's own `system:` users.
  return systemUser ? `${tenant}:stonegate:` : `${tenant}:`;
}

/**
 * @returns the name without the tenant's prefix
 * @throws StatusError IdentityReserved or IdentityUnusable
 */
function nameWithin({ subject }: NamedIdentity): string {
  if (subject.kind === 'claim') return claimedName(subject.name);
  const name = nameInDomain(subject);
  const atHome = subject.delegation !== undefined || subject.userDomain.id === subject.scopeDomain.id;
  return atHome ? name : `${name}@${escapeNamePart(subject.userDomain.name)}`;
}

function claimedName(name: string): string {
  if (name.startsWith(GUEST_PREFIX)) throw refused(GUEST_PREFIX, name);
  const [word = ''] = name.split(':', 1);
  if (DELEGATION_WORDS.has(word)) throw refused(`${word}:`, name);
  return name;
}

/**
 * A user whom the API server itself authenticated has their name from there.
 *
 * @throws StatusError IdentityReserved for a name that only a guest has
 */
function assertNoGuestName({ subject }: Identity): void {
  if (subject.kind !== 'upstream') return;
  const { username } = subject.user;
  if (username.slice(username.indexOf(':') + 1).startsWith(GUEST_PREFIX))
    throw refused(GUEST_PREFIX, username);
}

function refused(prefix: string, name: string): Error {
  return refusedName(
    'IdentityReserved',
    `this identity is refused: names under "${prefix}" are reserved`,
    name,
  );
}

/**
 * A guest has a name that no user of the entered tenant can have, brings nothing of home but that name, and
 * belongs to the group of the one policy that lets them in: RBAC in the entered tenant decides by that group.
 */
function createGuestRules(systemTenant: string): GuestRules {
  return {
    mayBeEntered: (tenant) => isEnterable(tenant, systemTenant),
    namedAtHome(identity) {
      const named = namedOf(identity, TENANCY_FACTS.arktos);
      return named && { name: nameWithin(named), groups: named.groups };
    },
    userOf({ home, name, tenant }, policyGroup) {
      const username = `${tenant}:${GUEST_PREFIX}${home}:${name}`;
      assertUsable(username, 'the user name');
      return {
        username,
        uid: '',
        groups: [GUESTS_GROUP, `${GUESTS_GROUP}:${home}`, policyGroup],
        // Extras hold roles of home, which an authorizer of the API server could go by.
        extra: {},
      };
    },
    route: tenantRoute,
  };
}
