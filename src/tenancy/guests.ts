/**
 * Users in another tenant than their own. A guest has a name that no user of the entered tenant can have,
 * brings nothing of home but that name, and belongs to the group of the one policy that lets them in: RBAC in
 * the entered tenant decides by that group.
 */
import { GUEST_PREFIX, GUESTS_GROUP, isEnterable } from '../kubernetes/reserved-names.ts';
import { nameWithin } from './arktos-names.ts';
import { tenantRoute } from './arktos-route.ts';
import type { GuestRules } from './tenancy-mode.ts';
import { assertUsable } from './user-name.ts';

export function createGuestRules(systemTenant: string): GuestRules {
  return {
    mayBeEntered: (tenant) => isEnterable(tenant, systemTenant),
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
