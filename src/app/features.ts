/**
 * The features of a configuration, one line for each: what they give to the pipeline is in `feature.ts`.
 */
import { createAccessReviewsRule } from '../admission/access-reviews.ts';
import { createBodySizeAdmission, methodAdmission } from '../admission/admission.ts';
import { createDefinitionScopeRule } from '../admission/definition-scope.ts';
import { createRoleBindingsRule } from '../admission/role-bindings.ts';
import { watchListAdmission } from '../admission/watch-list.ts';
import type { TenantName } from '../api/identity.ts';
import { type AccessReviewer, reviewOf } from '../authorization/access-reviewer.ts';
import { actingTenant } from '../authorization/acting-tenant.ts';
import { createConnectCreate } from '../authorization/connect-create.ts';
import { createOwnAPIRights } from '../authorization/own-api-rights.ts';
import { createSharedResources } from '../authorization/shared-resources.ts';
import { createTenantBoundary } from '../authorization/tenant-boundary.ts';
import { createUpgradePlaces } from '../authorization/upgrade-places.ts';
import { createDiscoveryHandler } from '../pipeline/discovery/handle-discovery.ts';
import type { Explain } from '../pipeline/explain/explain-request.ts';
import type { Feature } from '../pipeline/feature.ts';
import { createExplanationHandler } from '../pipeline/own-api/handle-explanation.ts';
import { createOwnDiscoveryHandlers } from '../pipeline/own-api/handle-own-discovery.ts';
import { handleSelfIdentity } from '../pipeline/own-api/handle-self-identity.ts';
import { createFilteredReview } from '../pipeline/self-review/filtered-self-review.ts';
import { createGuestReviewHandler } from '../pipeline/self-review/handle-guest-review.ts';
import { createSelfReviewHandler } from '../pipeline/self-review/handle-self-review.ts';
import { createOwnTenantHandler } from '../pipeline/tenants/handle-own-tenant.ts';
import type { Policies } from '../policy/ports.ts';
import { discoveryChange } from '../tenancy/discovery-paths.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { AccessFeatures } from './access-features.ts';
import type { Build } from './build.ts';
import type { Parts } from './feature-parts.ts';

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
    { admission: mode.watchLists === 'refused' ? [watchListAdmission] : [] },
    { handlers: { discovery: createDiscoveryHandler(discovered) }, responseHooks: [changesOf(parts)] },
    { authorizers: [createSharedResources({ discovered, mayBeShared: mode.mayBeShared, allowedGroups })] },
    { handlers: { 'own-tenant': createOwnTenantHandler({ ...parts, ...discovery, fetcher: upstream }) } },
    { authorizers: [createOwnAPIRights({ ...mode, reviewer, reasonOf })] },
    { handlers: createOwnDiscoveryHandlers({ ownAPI, fetcher: upstream }) },
    { handlers: { selfidentity: handleSelfIdentity } },
    { handlers: { explanations: createExplanationHandler(explain, parts.ownBodies) } },
    { handlers: { 'self-review': createSelfReviews(loaded.configuration, parts, access) } },
    ...(policies ? [createCrossTenant(parts, policies)] : []),
    { bodyRules: createBodyRules(mode, reviewer) },
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
