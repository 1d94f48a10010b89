/**
 * The features of a configuration, one line for each. What a feature gives to the proxy is in its folder's
 * `feature.ts`.
 */

import { ACCESS_RULES_WITHOUT_INDEX, createAccessRules } from '../features/access-rules/feature.ts';
import { createAccessReviewsRule } from '../features/admission/access-reviews.ts';
import { createDefinitionScopeRule } from '../features/admission/definition-scope.ts';
import { createRoleBindingsRule } from '../features/admission/role-bindings.ts';
import { watchListAdmission } from '../features/admission/watch-list.ts';
import { createAllNamespaces } from '../features/all-namespaces/feature.ts';
import type { FeatureBuild, Parts } from '../features/build.ts';
import { createDiscoveryHandler } from '../features/discovery/handle-discovery.ts';
import { createExplain, type Explain } from '../features/explain/explain-request.ts';
import { createExplainFeature } from '../features/explain/feature.ts';
import { createWarnings } from '../features/explain/warnings.ts';
import { createHideForbidden } from '../features/hide-forbidden/feature.ts';
import { createNamespaces } from '../features/namespaces/feature.ts';
import { createOwnAPIFeature } from '../features/own-api/feature.ts';
import { createOwnTenantHandler } from '../features/own-tenant/handle-own-tenant.ts';
import type { AccessSource } from '../features/portal/ports.ts';
import { createIndexParts } from '../features/rbac-index/feature.ts';
import { createSelfReviews } from '../features/self-reviews/feature.ts';
import { createConnectCreate } from '../features/tenant-boundary/connect-create.ts';
import { createSharedResources } from '../features/tenant-boundary/shared-resources.ts';
import { createTenantBoundary } from '../features/tenant-boundary/tenant-boundary.ts';
import { createUpgradePlaces } from '../features/tenant-boundary/upgrade-places.ts';
import { createWhoCan } from '../features/who-can/feature.ts';
import { type AccessReviewer, reviewOf } from '../kubernetes/access-reviewer.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { actingTenant } from '../proxy/acting-tenant.ts';
import { createBodySizeAdmission, methodAdmission } from '../proxy/admission.ts';
import type { Feature } from '../proxy/feature.ts';
import { createFilteredReason } from '../proxy/filtered-reason.ts';
import { createOwnAPI, type OwnAPI } from '../proxy/own-api.ts';
import type { Stages } from '../proxy/stages.ts';
import type { AccessIndex } from '../rbac/access-index.ts';
import { discoveryChange } from '../tenancy/discovery-paths.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { ownUserName } from '../upstream/credential.ts';
import { ownCredential } from './upstream.ts';

/** The features, and what the composition root asks of some of them. */
export interface ConfiguredFeatures {
  readonly features: readonly Feature[];
  readonly ownAPI: OwnAPI;
  readonly explain: Explain;
  /** What users may do, for the portal; undefined without the RBAC index. */
  readonly accessSource: AccessSource | undefined;
}

/**
 * @param access undefined if the configuration has no RBAC index
 * @param stages with these features; called when a request is explained
 */
export function createFeatures(
  build: FeatureBuild,
  parts: Parts,
  access: AccessIndex | undefined,
  stages: () => Stages,
): ConfiguredFeatures {
  const { tenancy, server, authorization } = build.loaded.configuration;
  const { mode, upstream, reviewer, discovery, reasonOf, policies } = parts;
  const allowedGroups = new Set(tenancy.sharedAPIGroups);
  const discovered = discovery.documents;
  const index = access && createIndexParts(build, parts, access);
  const namespaces = index && createNamespaces(build, parts, index);
  const allNamespaces = index && createAllNamespaces(build, parts, index);
  const filteredReason =
    index && createFilteredReason({ mode, namespaces, wouldMerge: allNamespaces?.wouldMerge });
  const accessRules = access && createAccessRules(build, parts, access);
  const warningsOn = createWarnings({ mode, discovered, access });
  const explain = createExplain({ stages, reviewer, reasonOf, filteredReason, warningsOn });
  const given: readonly (Feature | undefined)[] = [
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
    createSelfReviews(build, parts, access, filteredReason),
    { tenantEntry: policies },
    { bodyRules: createBodyRules(mode, reviewer) },
    namespaces,
    allNamespaces,
    accessRules ?? ACCESS_RULES_WITHOUT_INDEX,
    createWhoCan(build, parts, access, ownUserName(ownCredential(build.loaded))),
    index && authorization.hideForbidden ? createHideForbidden(mode, index) : undefined,
  ];
  const features = given.filter((feature) => feature !== undefined);
  const served = features.flatMap(({ ownResources = [] }) => ownResources);
  const ownAPI = createOwnAPI(served);
  const own = createOwnAPIFeature({ ...mode, ownAPI, served, fetcher: upstream, reviewer, reasonOf });
  return {
    features: [...features, own],
    ownAPI,
    explain,
    accessSource: accessRules,
  };
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
