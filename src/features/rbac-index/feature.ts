/**
 * The feature `rbac-index`: an index of the cluster's RBAC in each process, from which other features answer.
 * See docs/access.md.
 */

import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { filteringMode, isRBACAlone } from '../../kubernetes/authorization-mode.ts';
import { defineFeature } from '../define-feature.ts';
import { type AccessConfiguration, accessSchema } from './access-configuration.ts';
import * as METRICS from './metrics.ts';
import { RBAC_INDEX_RIGHTS } from './rights.ts';

interface IndexReads extends Pick<CoreConfiguration, 'tenancy' | 'upstream'> {
  readonly access: AccessConfiguration;
}

/** A setting of another section that has no effect without the index. */
export const NO_INDEX = 'has no effect without the index: expected access.index to be true';

export const rbacIndex = defineFeature({
  name: 'rbac-index',
  sections: {
    access: accessSchema
      .prefault({})
      .describe("An index of the cluster's RBAC, and what is answered from it. Off by default."),
  },
  rules: ({ access: { index, authorizers, othersNeverDeny, namedSets } }: IndexReads) => [
    ['access.authorizers', !index && authorizers.length > 0, NO_INDEX],
    ['access.othersNeverDeny', !index && othersNeverDeny, NO_INDEX],
    ['access.namedSets', !index && namedSets.length > 0, NO_INDEX],
  ],
  warnings: ({ access }: IndexReads) => [
    [
      'access.authorizers',
      access.index && filteringMode(access) === 'off',
      'lists of namespaces, and of all namespaces, are not filtered: state [Node, RBAC] if they are all that the API server has, or access.othersNeverDeny',
    ],
  ],
  rights: RBAC_INDEX_RIGHTS,
  metrics: Object.values(METRICS),
  reads({ access, tenancy: { facts, systemTenant }, upstream: { server } }: IndexReads) {
    const { index, maxIndexBytes: maxBytes, verifyOneIn: oneIn, authorizers } = access;
    return {
      index: index ? { server, inTenants: facts.hasTenantsInPaths, systemTenant, maxBytes } : undefined,
      verifier: { oneIn, isRBACAlone: isRBACAlone(authorizers) },
    };
  },
});

export type RbacIndexParts = ReturnType<typeof rbacIndex.reads>;
export type { SharedIndex } from './index-component.ts';
