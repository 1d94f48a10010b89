/**
 * The features of a configuration, one line for each. What a feature gives to the proxy is in its folder's
 * `feature.ts`.
 */

import { ACCESS_RULES_WITHOUT_INDEX, createAccessRules } from '../features/access-rules/feature.ts';
import { createAdmission } from '../features/admission/feature.ts';
import { createAllNamespaces } from '../features/all-namespaces/feature.ts';
import { createProjectNamespace } from '../features/bindings/feature.ts';
import type { FeatureBuild, ProxyParts } from '../features/build.ts';
import { createClientSetup } from '../features/client-setup/feature.ts';
import { createDiscoveryFeature } from '../features/discovery/feature.ts';
import { createExplain, type Explain } from '../features/explain/explain-request.ts';
import { createExplainFeature } from '../features/explain/feature.ts';
import { createWarnings } from '../features/explain/warnings.ts';
import { createHideForbidden } from '../features/hide-forbidden/feature.ts';
import { createInvitations } from '../features/invitations/feature.ts';
import { createMembers } from '../features/members/feature.ts';
import { createNamespaces } from '../features/namespaces/feature.ts';
import { createOwnAPIFeature } from '../features/own-api/feature.ts';
import { createOwnTenant } from '../features/own-tenant/feature.ts';
import type { PageSources } from '../features/portal/context.ts';
import { createShownQuotas } from '../features/quota/show-quota.ts';
import { createRates } from '../features/rates/feature.ts';
import { createIndexParts } from '../features/rbac-index/feature.ts';
import { createSelfReviews } from '../features/self-reviews/feature.ts';
import { createTeams } from '../features/teams/feature.ts';
import { createTenantBoundary } from '../features/tenant-boundary/feature.ts';
import { type ConfiguredTokens, WITHOUT_TOKENS } from '../features/tokens/feature.ts';
import { createWhoCan } from '../features/who-can/feature.ts';
import { createBodySizeAdmission, methodAdmission } from '../proxy/admission.ts';
import type { Feature } from '../proxy/feature.ts';
import { createFilteredReason } from '../proxy/filtered-reason.ts';
import { createOwnAPI, type OwnAPI } from '../proxy/own-api.ts';
import type { Stages } from '../proxy/stages.ts';
import type { AccessIndex } from '../rbac/access-index.ts';
import { ownUserName } from '../upstream/credential.ts';
import { ownCredential } from './upstream.ts';

/** The features, and what the composition root asks of some of them. */
export interface ConfiguredFeatures {
  readonly features: readonly Feature[];
  readonly ownAPI: OwnAPI;
  readonly explain: Explain;
  /** The portal's pages get their data from these. */
  readonly pages: PageSources;
}

/**
 * @param access undefined if the configuration has no RBAC index
 * @param tokens undefined if there are no access tokens
 * @param stages with these features; called when a request is explained
 */
export function createFeatures(
  build: FeatureBuild,
  parts: ProxyParts,
  access: AccessIndex | undefined,
  tokens: ConfiguredTokens | undefined,
  stages: () => Stages,
): ConfiguredFeatures {
  const { server, authorization, bindings } = build.loaded.configuration;
  const { mode, upstream, reviewer, discovery, reasonOf, policies } = parts;
  const index = access && createIndexParts(build, parts, access);
  const namespaces = index && createNamespaces(build, parts, index);
  const allNamespaces = index && createAllNamespaces(build, parts, index);
  const filteredReason =
    index && createFilteredReason({ mode, namespaces, wouldMerge: allNamespaces?.wouldMerge });
  const accessRules = access && createAccessRules(build, parts, access);
  const quotas = createShownQuotas(build.loaded.configuration, parts);
  const teams = createTeams(build, parts);
  const members = createMembers(build, parts, access, teams.directory);
  const invitations = createInvitations(build, parts, access, members.service, teams.service);
  const warningsOn = createWarnings({ mode, discovered: discovery.documents, access });
  const explain = createExplain({ stages, reviewer, reasonOf, filteredReason, warningsOn });
  const given: readonly (Feature | undefined)[] = [
    { authenticators: parts.authenticators },
    { provisioner: parts.provisioning },
    tokens?.feature ?? WITHOUT_TOKENS,
    createTenantBoundary(build, parts),
    { admission: [methodAdmission, createBodySizeAdmission(server.limits.bodyBytes)] },
    createAdmission(parts),
    createRates(build),
    createClientSetup(build.loaded),
    createDiscoveryFeature(parts),
    createOwnTenant(parts),
    createExplainFeature(explain, parts.ownBodies, createProjectNamespace(bindings)),
    createSelfReviews(build, parts, access, filteredReason),
    { tenantEntry: policies },
    namespaces,
    allNamespaces,
    accessRules ?? ACCESS_RULES_WITHOUT_INDEX,
    quotas,
    members,
    teams,
    invitations,
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
    pages: {
      access: accessRules,
      namespacesOf: accessRules?.namespacesOf,
      quota: quotas.source,
      tokens: tokens?.tokens,
      members: members.service,
      teams: teams.service,
      invitations: invitations.service,
    },
  };
}
