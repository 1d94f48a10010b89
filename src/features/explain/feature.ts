/**
 * `whoami` and `explain`: who the caller is, and what would happen to a request.
 */
import type { Feature } from '../../proxy/feature.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import type { OwnBodyOptions } from '../../proxy/own-body.ts';
import type { ProjectNamespace } from '../bindings/feature.ts';
import type { Explain } from './explain-request.ts';
import {
  explanationSpecSchema,
  explanationStatusSchema,
  selfIdentityStatusSchema,
} from './explain-schemas.ts';
import { createExplanationHandler } from './handle-explanation.ts';
import { createSelfIdentityHandler } from './handle-self-identity.ts';

export const SELF_IDENTITY: OwnResource = {
  name: 'selfidentity',
  kind: 'SelfIdentity',
  namespaced: false,
  verbs: ['get'],
  methods: ['GET', 'HEAD'],
  inTenant: false,
  description: 'SelfIdentity is the user as Stonegate knows them: name, tenant, groups, roles and scope.',
  schemas: { status: selfIdentityStatusSchema },
};

export const EXPLANATIONS: OwnResource = {
  name: 'explanations',
  kind: 'Explanation',
  namespaced: false,
  verbs: ['create'],
  inTenant: false,
  // An explanation contains causes that clients may not see, so a wildcard in a tenant's own role does not
  // grant it.
  right: 'cluster',
  description: 'Explanation says what would become of a request, stage by stage.',
  schemas: { spec: explanationSpecSchema, status: explanationStatusSchema },
};

export { selfIdentityOf } from './handle-self-identity.ts';

export function createExplainFeature(
  explain: Explain,
  ownBodies: OwnBodyOptions,
  namespaceOf: ProjectNamespace,
): Feature {
  return {
    ownResources: [
      { ...SELF_IDENTITY, handle: createSelfIdentityHandler(namespaceOf) },
      { ...EXPLANATIONS, handle: createExplanationHandler(explain, ownBodies) },
    ],
  };
}
