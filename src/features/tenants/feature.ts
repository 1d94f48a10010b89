/**
 * The feature `tenants`: which tenants the API server has, where tenants are objects. What Stonegate stores
 * for a tenant depends on it.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';

interface TenantsReads extends Pick<CoreConfiguration, 'tenancy' | 'upstream'> {
  readonly tokens?: object;
  readonly members?: object;
}

export const tenants = defineFeature({
  name: 'tenants',
  sections: {},
  // Only these sections store something for a tenant, and print the right to watch tenants.
  reads: ({ tokens, members, tenancy: { facts }, upstream: { server } }: TenantsReads) => ({
    tenants:
      facts.tenantsAreObjects && (tokens !== undefined || members !== undefined) ? { server } : undefined,
  }),
});

export type TenantsParts = ReturnType<typeof tenants.reads>;
