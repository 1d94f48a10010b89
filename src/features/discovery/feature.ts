/**
 * The feature `discovery`: the documents of each tenant, and those of the system tenant, cached and fetched
 * as Stonegate.
 */
import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { rule } from '../../kubernetes/right.ts';
import { DISCOVERY_URLS } from '../../tenancy/discovery-paths.ts';
import { defineFeature } from '../define-feature.ts';

export const discovery = defineFeature({
  name: 'discovery',
  sections: {},
  rights: [
    {
      when: ['operatorIsATenant'],
      comment:
        "Which API groups are the system tenant's alone, and which it shares with every tenant: their discovery depends on it.",
      consequence: "tenants' discovery also shows groups that they cannot use",
      rule: rule('apiextensions.k8s.io', 'customresourcedefinitions', 'list'),
    },
    {
      when: ['hasTenantsInPaths'],
      comment: 'Discovery, which the API server shows to no tenant, and health.',
      consequence: 'discovery and health fail',
      rule: {
        nonResourceURLs: [...DISCOVERY_URLS],
        verbs: ['get', 'head'],
      },
    },
    {
      when: ['!hasTenantsInPaths'],
      comment: 'Whether the API server is there.',
      consequence: 'it is not known whether the API server is there',
      rule: { nonResourceURLs: ['/version'], verbs: ['get'] },
    },
  ],
  reads: ({ tenancy: { discoveryTTL: ttl } }: Pick<CoreConfiguration, 'tenancy'>) => ({ ttl }),
});

export type DiscoveryParts = ReturnType<typeof discovery.reads>;
