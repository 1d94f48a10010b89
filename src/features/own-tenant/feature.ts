/**
 * The feature `own-tenant`: `kubectl get tenants` for users of an Arktos tenant. See docs/access.md.
 */
import { rule } from '../../kubernetes/right.ts';
import { defineFeature } from '../define-feature.ts';

export const ownTenant = defineFeature({
  name: 'own-tenant',
  sections: {},
  rights: [
    {
      when: ['access.index', 'tenantsAreObjects'],
      comment: 'The tenant of a user, for `kubectl get tenants`.',
      consequence: '`kubectl get tenants` fails for users of tenants',
      rule: rule('', 'tenants', 'get'),
    },
  ],
  reads: () => ({}),
});
