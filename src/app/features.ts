/**
 * The features of a configuration, one line for each: what they give to the pipeline is in `feature.ts`.
 */

import type { Build } from '../config/build.ts';
import { createAdmission } from '../features/admission/feature.ts';
import type { Parts } from '../features/build.ts';
import { createDiscoveryHandler } from '../features/discovery/handle-discovery.ts';
import type { Explain } from '../features/explain/explain-request.ts';
import { createExplanationHandler } from '../features/explain/handle-explanation.ts';
import { handleSelfIdentity } from '../features/explain/handle-self-identity.ts';
import { createOwnDiscoveryHandlers } from '../features/own-api/handle-own-discovery.ts';
import { createOwnAPIRights } from '../features/own-api/own-api-rights.ts';
import { createOwnTenantHandler } from '../features/own-tenant/handle-own-tenant.ts';
import { createFilteredReview } from '../features/self-reviews/filtered-self-review.ts';
import { createGuestReviewHandler } from '../features/self-reviews/handle-guest-review.ts';
import { createSelfReviewHandler } from '../features/self-reviews/handle-self-review.ts';
import { createConnectCreate } from '../features/tenant-boundary/connect-create.ts';
import { createSharedResources } from '../features/tenant-boundary/shared-resources.ts';
import { createTenantBoundary } from '../features/tenant-boundary/tenant-boundary.ts';
import { createUpgradePlaces } from '../features/tenant-boundary/upgrade-places.ts';
import { actingTenant } from '../proxy/acting-tenant.ts';
import { createBodySizeAdmission, methodAdmission } from '../proxy/admission.ts';
import type { Feature } from '../proxy/feature.ts';
import type { Policies } from '../proxy/tenant-entry.ts';
import { discoveryChange } from '../tenancy/discovery-paths.ts';
import type { AccessFeatures } from './access-features.ts';

/** @param access undefined without the RBAC index */
export function createFeatures(
  { loaded }: Build,
  parts: Parts,
  access: AccessFeatures | undefined,
  explain: Explain,
): readonly Feature[] {
  const { tenancy, server } = loaded.configuration;
  const { mode, ownAPI, upstream, reviewer, discovery, reasonOf, policies } = parts;
  const allowedGroups = new Set(tenancy.sharedAPIGroups);
  const discovered = discovery.documents;
  return [
    { authenticators: parts.authenticators },
    { provisioner: parts.provisioning },
    { authorizers: [createUpgradePlaces(mode), createTenantBoundary(mode)] },
    { authorizers: [createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant, reasonOf })] },
    { admission: [methodAdmission, createBodySizeAdmission(server.limits.bodyBytes)] },
    createAdmission(parts),
    { handlers: { discovery: createDiscoveryHandler(discovered) }, responseHooks: [changesOf(parts)] },
    { authorizers: [createSharedResources({ discovered, mayBeShared: mode.mayBeShared, allowedGroups })] },
    { handlers: { 'own-tenant': createOwnTenantHandler({ ...parts, ...discovery, fetcher: upstream }) } },
    { authorizers: [createOwnAPIRights({ ...mode, reviewer, reasonOf })] },
    { handlers: createOwnDiscoveryHandlers({ ownAPI, fetcher: upstream }) },
    { handlers: { selfidentity: handleSelfIdentity } },
    { handlers: { explanations: createExplanationHandler(explain, parts.ownBodies) } },
    { handlers: { 'self-review': createSelfReviews(loaded.configuration, parts, access) } },
    ...(policies ? [createCrossTenant(parts, policies)] : []),
    ...(access?.features ?? []),
  ];
}

/** Sees the requests that change a tenant's discovery. */
function changesOf({ mode, discovery }: Parts): NonNullable<Feature['responseHooks']>[number] {
  return (outgoing) => {
    const change = discoveryChange(outgoing.info, actingTenant(outgoing), mode);
    if (change === undefined) return undefined;
    return {
      onHead(status) {
        // A server that failed may still have written.
        if (status < 300 || status >= 500) discovery.changed(change.owner);
      },
    };
  };
}

function createSelfReviews(
  { access: { selfReviews } }: Build['loaded']['configuration'],
  parts: Parts,
  access: AccessFeatures | undefined,
): ReturnType<typeof createSelfReviewHandler> {
  const { upstream, subjects, ownBodies } = parts;
  return createSelfReviewHandler({
    ...parts,
    ...ownBodies,
    fetcher: upstream,
    requestAs: subjects.requestAs,
    ...(access && {
      filteredReview: createFilteredReview({ extent: selfReviews, ...access }),
      indexed: access.rulesTrust,
    }),
  });
}

function createCrossTenant(parts: Parts, policies: Policies): Feature {
  const handler = createGuestReviewHandler({ ...parts, ...parts.ownBodies, policies });
  return { tenantEntry: policies, handlers: { 'guest-review': handler } };
}
