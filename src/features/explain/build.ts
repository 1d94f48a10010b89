/**
 * `whoami` and `explain`: who the caller is, and what would happen to a request.
 */
import type { Feature } from '../../proxy/feature.ts';
import type { OwnBodyOptions } from '../../proxy/own-body.ts';
import type { ProjectNamespace } from '../../tenancy/keystone-v3.ts';
import { createSelfIdentityHandler } from '../self-identity.ts';
import type { Explain } from './explain-request.ts';
import { createExplanationHandler } from './handle-explanation.ts';
import { EXPLANATIONS, SELF_IDENTITY } from './stonegate-v1alpha1.ts';

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
