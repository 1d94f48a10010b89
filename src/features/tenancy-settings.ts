/**
 * What the tenancy mode of a configuration is built from: the section `tenancy`, and what other sections
 * decide.
 */
import type { CoreConfiguration } from '../config/core-configuration.ts';
import { usernamePrefixesOf } from '../config/validate-names.ts';
import { filteringMode } from '../kubernetes/authorization-mode.ts';

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
