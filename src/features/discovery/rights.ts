/**
 * The rights at the API server that discovery needs, with health and OpenAPI.
 */
import { type Right, rule } from '../../kubernetes/right.ts';

export const DISCOVERY_RIGHTS: readonly Right[] = [
  {
    when: ['arktos'],
    comment:
      "Which API groups are the system tenant's alone, and which it shares with every tenant: their discovery depends on it.",
    consequence: "tenants' discovery also shows groups that they cannot use",
    rule: rule('apiextensions.k8s.io', ['customresourcedefinitions'], ['list']),
  },
  {
    when: ['arktos'],
    comment: 'Discovery, which the API server shows to no tenant, and health.',
    consequence: 'discovery and health fail',
    rule: {
      nonResourceURLs: [
        ...['/api', '/api/v1', '/apis', '/apis/*', '/openapi/v2', '/openapi/v3', '/openapi/v3/*'],
        ...['/version', '/healthz', '/livez', '/readyz'],
      ],
      verbs: ['get', 'head'],
    },
  },
  {
    when: ['shared'],
    comment: 'Whether the API server is there.',
    consequence: 'it is not known whether the API server is there',
    rule: { nonResourceURLs: ['/version'], verbs: ['get'] },
  },
];
