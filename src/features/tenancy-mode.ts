/**
 * The tenancy mode of a configuration, and what else depends on the mode alone.
 */

import type { CoreConfiguration, TenancyConfiguration } from '../config/core-configuration.ts';
import { usernamePrefixesOf } from '../config/validate-names.ts';
import { StatusError } from '../errors/status-error.ts';
import { filteringMode } from '../kubernetes/authorization-mode.ts';
import type { Place } from '../kubernetes/kubernetes-object.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import {
  arktosAdmission,
  type SystemAccounts,
  sharedAdmission,
  type TenantAdmission,
} from '../tenancy/admission-tenants.ts';
import { createArktosMode } from '../tenancy/arktos.ts';
import { createSharedMode } from '../tenancy/shared.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';

/** What the tenancy mode is built from. */
export interface TenancyReads extends Pick<CoreConfiguration, 'tenancy' | 'authentication'> {
  readonly access: Parameters<typeof filteringMode>[0] & {
    readonly index: boolean;
    readonly selfReviews: string;
  };
}

export function tenancySettings({ tenancy, authentication, access }: TenancyReads) {
  return {
    ...tenancy,
    showsOwnTenant: access.index,
    looksUpRoles: authentication.keystone?.roleAssignments !== undefined,
    filtersResponses: access.index && access.selfReviews !== 'none' && filteringMode(access) !== 'off',
    reservedNamePrefixes: usernamePrefixesOf(authentication),
  };
}

export type TenancySettings = ReturnType<typeof tenancySettings>;

export function createTenancyMode(settings: TenancySettings): TenancyMode {
  switch (settings.mode) {
    case 'arktos':
      return createArktosMode(settings);
    case 'shared':
      return createSharedMode(settings);
  }
}

/** Decides to which tenant an object under admission belongs. It needs nothing but `tenancy`. */
export function createTenantAdmission(
  { mode, systemTenant }: TenancyConfiguration,
  system: SystemAccounts,
): TenantAdmission {
  switch (mode) {
    case 'arktos':
      return arktosAdmission(systemTenant, system);
    case 'shared':
      return sharedAdmission(system);
  }
}

/** Where the objects are that a feature stores for all tenants: on Arktos in the system tenant. */
export function operatorPlace(
  { namespace }: { readonly namespace: string },
  { mode, systemTenant }: Pick<TenancyConfiguration, 'mode' | 'systemTenant'>,
): Place {
  return { ...(mode === 'arktos' && { tenant: systemTenant }), namespace };
}

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
