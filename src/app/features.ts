/**
 * The features of a configuration, one line for each: what they give to the pipeline is in `feature.ts`.
 */

import type { Build } from '../config/build.ts';
import { createAccessReviewsRule } from '../features/admission/access-reviews.ts';
import { createDefinitionScopeRule } from '../features/admission/definition-scope.ts';
import { createRoleBindingsRule } from '../features/admission/role-bindings.ts';
import { watchListAdmission } from '../features/admission/watch-list.ts';
import type { Parts } from '../features/build.ts';
import { createDiscoveryHandler } from '../features/discovery/handle-discovery.ts';
import type { Explain } from '../features/explain/explain-request.ts';
import { createExplainFeature } from '../features/explain/feature.ts';
import { createOwnAPIFeature } from '../features/own-api/feature.ts';
import { createOwnTenantHandler } from '../features/own-tenant/handle-own-tenant.ts';
import { createFilteredReview } from '../features/self-reviews/filtered-self-review.ts';
import { createGuestReviewHandler } from '../features/self-reviews/handle-guest-review.ts';
import { createSelfReviewHandler } from '../features/self-reviews/handle-self-review.ts';
import { createConnectCreate } from '../features/tenant-boundary/connect-create.ts';
import { createSharedResources } from '../features/tenant-boundary/shared-resources.ts';
import { createTenantBoundary } from '../features/tenant-boundary/tenant-boundary.ts';
import { createUpgradePlaces } from '../features/tenant-boundary/upgrade-places.ts';
import { type AccessReviewer, reviewOf } from '../kubernetes/access-reviewer.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { actingTenant } from '../proxy/acting-tenant.ts';
import { createBodySizeAdmission, methodAdmission } from '../proxy/admission.ts';
import type { Feature } from '../proxy/feature.ts';
import { createOwnAPI, type OwnAPI } from '../proxy/own-api.ts';
import type { Policies } from '../proxy/tenant-entry.ts';
import { discoveryChange } from '../tenancy/discovery-paths.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { type AccessFeatures, WITHOUT_INDEX } from './access-features.ts';

/** @param access undefined without the RBAC index */
export function createFeatures(
  { loaded }: Build,
  parts: Parts,
  access: AccessFeatures | undefined,
  explain: Explain,
): { readonly features: readonly Feature[]; readonly ownAPI: OwnAPI } {
  const { tenancy, server } = loaded.configuration;
  const { mode, upstream, reviewer, discovery, reasonOf, policies } = parts;
  const allowedGroups = new Set(tenancy.sharedAPIGroups);
  const discovered = discovery.documents;
  const features: Feature[] = [
    { authenticators: parts.authenticators },
    { provisioner: parts.provisioning },
    { authorizers: [createUpgradePlaces(mode), createTenantBoundary(mode)] },
    { authorizers: [createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant, reasonOf })] },
    { admission: [methodAdmission, createBodySizeAdmission(server.limits.bodyBytes)] },
    { admission: mode.watchLists === 'refused' ? [watchListAdmission] : [] },
    { handlers: { discovery: createDiscoveryHandler(discovered) }, responseHooks: [changesOf(parts)] },
    { authorizers: [createSharedResources({ discovered, mayBeShared: mode.mayBeShared, allowedGroups })] },
    { handlers: { 'own-tenant': createOwnTenantHandler({ ...parts, ...discovery, fetcher: upstream }) } },
    createExplainFeature(explain, parts.ownBodies),
    { handlers: { 'self-review': createSelfReviews(loaded.configuration, parts, access) } },
    ...(policies ? [createCrossTenant(parts, policies)] : []),
    { bodyRules: createBodyRules(mode, reviewer) },
    ...(access?.features ?? [WITHOUT_INDEX]),
  ];
  const served = features.flatMap(({ ownResources = [] }) => ownResources);
  const ownAPI = createOwnAPI(served);
  const own = createOwnAPIFeature({ ...mode, ownAPI, served, fetcher: upstream, reviewer, reasonOf });
  return { features: [...features, own], ownAPI };
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

function createBodyRules(mode: TenancyMode, reviewer: AccessReviewer): Feature['bodyRules'] & {} {
  const isConfined = (tenant: TenantName) =>
    mode.reviewTenant(tenant) !== undefined && !mode.isSystem(tenant);
  return [
    createAccessReviewsRule({ isConfined }),
    ...(mode.readsTenantFromPath ? [createDefinitionScopeRule(mode)] : []),
    createRoleBindingsRule({
      isConfined,
      review({ user, sender, tenant, account, signal }, attributes) {
        const home = mode.reviewTenant(tenant);
        const resourceAttributes = { ...attributes, ...(home !== undefined && { tenant: home }) };
        return reviewOf(reviewer, { user, sender, home, account }, { resourceAttributes }, signal);
      },
    }),
  ];
}
