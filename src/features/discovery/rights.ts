/**
 * The rights at the API server that discovery needs, with health and OpenAPI.
 */
import { type Right, rule } from '../../kubernetes/right.ts';
import { DISCOVERY_URLS } from '../../tenancy/discovery-paths.ts';

export const DISCOVERY_RIGHTS: readonly Right[] = [
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
];
