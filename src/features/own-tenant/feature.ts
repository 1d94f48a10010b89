/**
 * The feature `own-tenant`: `kubectl get tenants` for users of an Arktos tenant. See docs/access.md.
 */
import { defineFeature } from '../define-feature.ts';
import { OWN_TENANT_RIGHTS } from './rights.ts';

export const ownTenant = defineFeature({
  name: 'own-tenant',
  sections: {},
  rights: OWN_TENANT_RIGHTS,
  reads: () => ({}),
});
