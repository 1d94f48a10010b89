/**
 * The feature `access-rules`: everything that a user may do, for services that show data of the cluster, and
 * for the page of the portal.
 */
import type { AuthorizationMode } from '../../kubernetes/authorization-mode.ts';
import { defineFeature } from '../define-feature.ts';
import { ACCESS_RULES_REVIEWS, SELF_ACCESS_RULES } from './access-rules-v1alpha1.ts';
import type { NamedSet } from './rules-document.ts';

interface AccessRulesReads {
  readonly access: {
    readonly namedSets: readonly NamedSet[];
    readonly authorizers: readonly AuthorizationMode[];
  };
}

export const accessRules = defineFeature({
  name: 'access-rules',
  sections: {},
  ownResources: [SELF_ACCESS_RULES, ACCESS_RULES_REVIEWS],
  reads: ({ access: { namedSets, authorizers } }: AccessRulesReads) => ({
    rules: { namedSets, authorizers },
  }),
});

export type AccessRulesParts = ReturnType<typeof accessRules.reads>;
