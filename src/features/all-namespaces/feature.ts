/**
 * The feature `all-namespaces`: lists and watches of all namespaces for users who may have them in some
 * namespaces only. See docs/access.md.
 */
import { filteringMode } from '../../kubernetes/authorization-mode.ts';
import { defineFeature } from '../define-feature.ts';

export const allNamespaces = defineFeature({
  name: 'all-namespaces',
  sections: {},
  reads: ({
    access,
  }: {
    readonly access: Parameters<typeof filteringMode>[0] & { readonly maxNamespaces: number };
  }) => ({
    filtering: filteringMode(access),
    maxNamespaces: access.maxNamespaces,
  }),
});

export type AllNamespacesParts = ReturnType<typeof allNamespaces.reads>;
