/**
 * A tenancy mode that is neither of the two: tenants are objects and names begin with them, as on Arktos, but
 * no path names a tenant, and the cluster is an ordinary one otherwise.
 */
import type { LoadedStonegate } from '../../src/app/configuration.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { TENANCY_FACTS, type TenancyFacts } from '../../src/tenancy/facts.ts';
import { createSharedMode } from '../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';

export const THIRD_FACTS: TenancyFacts = {
  ...TENANCY_FACTS.shared,
  tenantsAreObjects: true,
  readsTenantFromName: true,
  comparesBoundRoles: false,
  throttlesWebhooks: true,
  mayConstrainImpersonation: false,
  kubernetesMinor: 24,
};

const { tenantOf, userOf, impersonationTarget, memberName } = createArktosMode({
  systemTenant: 'system',
  domains: {},
});

export const THIRD_MODE: TenancyMode = {
  ...createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
  ...{ tenantOf, userOf, impersonationTarget, memberName },
  name: 'third',
  facts: THIRD_FACTS,
};

/** The configuration in the third mode; what has no other source than the name of a mode is shared mode's. */
export function inThirdMode(loaded: LoadedStonegate): LoadedStonegate {
  const { configuration } = loaded;
  const tenancy = { ...configuration.tenancy, facts: THIRD_FACTS };
  return { ...loaded, configuration: { ...configuration, tenancy } };
}
