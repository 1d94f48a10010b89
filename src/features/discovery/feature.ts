/**
 * The feature `discovery`: the documents of each tenant, and those of the system tenant, cached and fetched
 * as Stonegate.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';
import { DISCOVERY_RIGHTS } from './rights.ts';

export const discovery = defineFeature({
  name: 'discovery',
  sections: {},
  rights: DISCOVERY_RIGHTS,
  reads: ({ tenancy: { discoveryTTL: ttl } }: Pick<CoreConfiguration, 'tenancy'>) => ({ ttl }),
});

export type DiscoveryParts = ReturnType<typeof discovery.reads>;
