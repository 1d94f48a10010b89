/**
 * The right of the provisioner at the API server with which it knows the UIDs of tenants.
 */
import { type Condition, type Right, rule } from '../kubernetes/right.ts';

/** @param when it is needed, where tenants have UIDs */
export function tenantUIDRight(when: readonly Condition[]): Right {
  return { when: [...when, 'tenantsAreObjects'], rule: rule('', 'tenants', 'get list watch') };
}
