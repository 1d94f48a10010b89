/**
 * The feature `namespaces`: users who may not list all namespaces get those that they may `get`, from the
 * RBAC index. See docs/access.md.
 */
import { filteringMode } from '../../kubernetes/authorization-mode.ts';
import { defineFeature } from '../define-feature.ts';

export const namespaces = defineFeature({
  name: 'namespaces',
  sections: {},
  reads: ({ access }: { readonly access: Parameters<typeof filteringMode>[0] }) => ({
    filtering: filteringMode(access),
  }),
});

export type NamespacesParts = ReturnType<typeof namespaces.reads>;
