/**
 * The rights of the provisioner at the API server with which it knows the UIDs of tenants.
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { rule } from '../kubernetes/right.ts';

export function tenantUIDRules(mode: 'arktos' | 'shared'): readonly PolicyRule[] {
  return mode === 'arktos' ? [rule('', ['tenants'], ['get', 'list', 'watch'])] : [];
}
