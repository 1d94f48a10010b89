/**
 * The feature `tenant-boundary`: what keeps users in their tenant.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';

export const tenantBoundary = defineFeature({
  name: 'tenant-boundary',
  sections: {},
  reads: ({ tenancy: { sharedAPIGroups } }: Pick<CoreConfiguration, 'tenancy'>) => ({ sharedAPIGroups }),
});

export type TenantBoundaryParts = ReturnType<typeof tenantBoundary.reads>;
