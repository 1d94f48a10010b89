/**
 * Users in another tenant than their own. A guest has a name that no user of the entered tenant can have,
 * brings nothing of home but that name, and belongs to the group of the one policy that lets them in: RBAC in
 * the entered tenant decides by that group.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { GUEST_PREFIX, GUESTS_GROUP } from '../api/reserved-names.ts';
import { nameWithin } from './arktos-names.ts';
import { tenantRoute } from './arktos-route.ts';
import type { Route } from './tenancy-mode.ts';
import { assertUsable } from './user-name.ts';

export interface Guest {
  /** Their own tenant. */
  readonly home: TenantName;
  /** Their name within it. */
  readonly name: string;
  /** The tenant that they enter. */
  readonly tenant: TenantName;
}

export interface GuestRules {
  /** Whether any user of another tenant may ever enter it. */
  mayBeEntered(tenant: TenantName): boolean;
  /**
   * The user's name within their own tenant.
   *
   * @returns undefined for a user who cannot be impersonated: anonymous, or with a token of the API server
   * @throws StatusError IdentityReserved or IdentityUnusable
   */
  nameOf(identity: Identity): string | undefined;
  /**
   * @param policyGroup of the policy that lets them in
   * @throws StatusError IdentityUnusable
   */
  userOf(guest: Guest, policyGroup: string): UserInfo;
  /**
   * Decides how a guest's request is served: as one of the entered tenant's users, but nothing is shown that
   * only the tenant's own users see.
   *
   * @throws StatusError PathForbidden for what is no tenant's
   */
  route(info: RequestInfo, method: string, tenant: TenantName, user: UserInfo): Route;
}

/** @param closed the tenants that cannot be entered */
export function createGuestRules(closed: ReadonlySet<string>): GuestRules {
  return {
    mayBeEntered: (tenant) => !closed.has(tenant),
    nameOf(identity) {
      const { subject } = identity;
      if (subject.kind === 'upstream' || subject.kind === 'anonymous') return undefined;
      return nameWithin({ ...identity, subject });
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
