/**
 * The rights of the provisioner at the API server with which it knows the UIDs of tenants.
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { rule } from '../kubernetes/right.ts';
import type { TenancyFacts } from '../tenancy/facts.ts';

export function tenantUIDRules({ tenantsAreObjects }: TenancyFacts): readonly PolicyRule[] {
  return tenantsAreObjects ? [rule('', ['tenants'], ['get', 'list', 'watch'])] : [];
}
