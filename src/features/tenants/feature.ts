/**
 * The feature `tenants`: which tenants the API server has, where tenants are objects. What Stonegate stores
 * for a tenant depends on it.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';

export const tenants = defineFeature({
  name: 'tenants',
  sections: {},
  reads: ({ tenancy, upstream: { server } }: Pick<CoreConfiguration, 'tenancy' | 'upstream'>) => ({
    tenants: tenancy.facts.tenantsAreObjects ? { server } : undefined,
  }),
});

export type TenantsParts = ReturnType<typeof tenants.reads>;
