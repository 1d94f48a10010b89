/**
 * Which tenants have members, teams and invitations: all but the system's.
 */
import { StatusError } from '../errors/status-error.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';

/**
 * Arktos counts a RoleBinding of the system tenant in the namespace of that name of every tenant.
 *
 * @throws StatusError AccessDenied in the system tenant
 */
export function assertMayHaveMembers(tenant: TenantName, mode: Pick<TenancyMode, 'isSystem'>): void {
  if (!mode.isSystem(tenant)) return;
  throw new StatusError(
    'AccessDenied',
    `members, teams and invitations are not for the tenant ${JSON.stringify(tenant)}: a role in one of its namespaces applies in the namespace of that name of every tenant; kubectl create clusterrolebinding grants a role that is meant for all`,
  );
}
