/**
 * The feature `access-rules`: everything that a user may do, for services that show data of the cluster, and
 * for the page of the portal.
 */
import { defineFeature } from '../define-feature.ts';
import type { AccessConfiguration } from '../rbac-index/feature.ts';

export const accessRules = defineFeature({
  name: 'access-rules',
  sections: {},
  reads: ({ access: { namedSets, authorizers } }: { readonly access: AccessConfiguration }) => ({
    rules: { namedSets, authorizers },
  }),
});

export type AccessRulesParts = ReturnType<typeof accessRules.reads>;
