/**
 * The feature `access-rules`: everything that a user may do, for services that show data of the cluster, and
 * for the page of the portal.
 */
import type { AuthorizationMode } from '../../kubernetes/authorization-mode.ts';
import { defineFeature } from '../define-feature.ts';
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
  reads: ({ access: { namedSets, authorizers } }: AccessRulesReads) => ({
    rules: { namedSets, authorizers },
  }),
});

export type AccessRulesParts = ReturnType<typeof accessRules.reads>;
