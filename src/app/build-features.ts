/**
 * Builds the features of a generation, in order and with explicit arguments. What two of them need of each
 * other is bound late: an explanation asks the stages that have the features.
 */

import type { Parts } from '../config/scope.ts';
import { createAccessRules } from '../features/access-rules/build.ts';
import { createAdmission } from '../features/admission/build.ts';
import { createAllNamespaces } from '../features/all-namespaces/build.ts';
import {
  createNamespaceOf,
  createProjectNamespace,
  createServedProvisioning,
  provisioningTenancy,
} from '../features/bindings/build.ts';
import type { ProxyParts } from '../features/build.ts';
import { createClientSetup } from '../features/client-setup/build.ts';
import {
  type ConfiguredPolicies,
  createPolicies,
  createPolicyController,
  type MembershipLog,
} from '../features/cross-tenant/build.ts';
import { createDiscovery } from '../features/discovery/build.ts';
import { createExplainFeature } from '../features/explain/build.ts';
import { createExplain } from '../features/explain/explain-request.ts';
import { createWarnings } from '../features/explain/warnings.ts';
import { createHideForbidden } from '../features/hide-forbidden/build.ts';
import { createInvitations } from '../features/invitations/build.ts';
import { createServedKeystoneQuota } from '../features/keystone-limits/build.ts';
import { createMembers } from '../features/members/build.ts';
import { createNamespaces } from '../features/namespaces/build.ts';
import { createOwnAPIFeature } from '../features/own-api/build.ts';
import { createOwnTenant } from '../features/own-tenant/build.ts';
import { createServedPublishing } from '../features/publishing/build.ts';
import { createQuotaController, createQuotaReadiness } from '../features/quota/build.ts';
import { createShownQuotas } from '../features/quota/show-quota.ts';
import { createRates } from '../features/rates/build.ts';
import { createAccessIndex, createSharedIndex } from '../features/rbac-index/build.ts';
import { createSelfReviews } from '../features/self-reviews/build.ts';
import { createTeams } from '../features/teams/build.ts';
import { createMemberships, createTeamReadiness } from '../features/teams/memberships.ts';
import { createTenantBoundary } from '../features/tenant-boundary/build.ts';
import { createTenantUIDs } from '../features/tenants/build.ts';
import { createTokens } from '../features/tokens/build.ts';
import { createTraces } from '../features/traces/build.ts';
import type { RequestedTotals } from '../features/usage/feature.ts';
import { createKeystoneNames, createWhoCan } from '../features/who-can/build.ts';
import { createAccessReviewer } from '../kubernetes/access-reviewer.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { createAccessSubjects } from '../proxy/access-subject.ts';
import { createBodySizeAdmission, methodAdmission } from '../proxy/admission.ts';
import { createIdentityRequests } from '../proxy/as-identity.ts';
import type { ServingStages } from '../proxy/delivery.ts';
import { combineFeatures, type Feature } from '../proxy/feature.ts';
import { createFilteredReason } from '../proxy/filtered-reason.ts';
import { createOwnAPI } from '../proxy/own-api.ts';
import { createReasonOf } from '../proxy/rbac-reasons.ts';
import type { Stages } from '../proxy/stages.ts';
import { createTenancyMode } from '../tenancy/create-tenancy-mode.ts';
import { memoizedMode, withGroups } from '../tenancy/tenancy-mode.ts';
import { ownUserName } from '../upstream/credential.ts';
import { createAuthentication, createConfiguredOwners } from './authenticators.ts';
import type { AppBuild, Reads } from './backends.ts';
import { DEFINITIONS } from './configuration.ts';
import { FEATURES } from './features.ts';
import { createRoles } from './keystone.ts';
import { createOwnRights, ownCredential } from './upstream.ts';

export interface FeatureOptions {
  /** Milliseconds since the epoch, of the process. */
  readonly startedAt: number;
  /** Shared by all requests of the process. */
  readonly streams: ServingStages['streams'];
  /** Shared by all requests of the process. */
  readonly responseMemory: ServingStages['responseMemory'];
  /** Undefined for a command that only explains: no controller runs. */
  readonly controllers?: ControllerOptions | undefined;
  /** Whether an operator reads the explanations, not the user of the request. */
  readonly isOperator?: boolean;
}

interface ControllerOptions {
  readonly memberships: MembershipLog;
  /** Whether what Stonegate made for a feature stays if the configuration does not have it any more. */
  readonly keep: boolean;
}

/** `app.ts` creates these with the process, and imports no feature itself. */
export { createMembershipLog, type MembershipLog } from '../features/cross-tenant/build.ts';
export { createPortalState, type PortalState } from '../features/portal/build.ts';
export { createUsageMeter, type UsageMeter } from '../features/usage/build.ts';
export type { InForce } from '../features/webhook/build.ts';

const OWN_RESOURCES = DEFINITIONS.flatMap(({ ownResources = [] }) => ownResources);

export type BuiltFeatures = ReturnType<typeof buildFeatures>;

/** The longest body that clients post to Stonegate's own API: a token of 16 kB, or very many groups. */
export const OWN_BODY_BYTES = 256 * 1024;

/** @param stages with these features; called when a request is explained */
export function buildFeatures(build: AppBuild, options: FeatureOptions, stages: () => Stages) {
  const { buildFor, runtime, upstream, loaded, keystone } = build;
  const { server, upstream: target } = loaded.configuration;
  const { startedAt, streams, responseMemory } = options;
  const { clock } = runtime;
  const tenants = createTenantUIDs(buildFor(FEATURES.tenants));
  const memberships = createMemberships(buildFor(FEATURES.teams), tenants);
  const named = memoizedMode(build.mode);
  const mode = memberships ? withGroups(named, memberships.groupsOf) : named;
  const policies = createPolicies(buildFor(FEATURES.crossTenant));
  const controlled = options.controllers && buildControllers(build, policies, options.controllers);
  const reviewer = createAccessReviewer({ fetcher: upstream, path: accessReviewPath });
  const credentials = createAuthentication(build, mode);
  const { names } = buildFor(FEATURES.bindings).parts;
  const roles = createRoles(build, mode, createNamespaceOf(names));
  const discovery = createDiscovery(buildFor(FEATURES.discovery), { fetcher: upstream, mode });
  const built = createAccessIndex(buildFor(FEATURES.rbacIndex), startedAt);
  const access = built?.access;
  const reasonOf = access && createReasonOf(access, mode, options.isOperator);
  const ownBodies = {
    clock,
    limits: { bodyBytes: OWN_BODY_BYTES, bodyTimeout: server.timeouts.body },
  };
  const owners = createConfiguredOwners(build, credentials, roles);
  const tokens = createTokens(buildFor(FEATURES.tokens), {
    ...{ mode, tenants, owners, streams, access },
    bodies: ownBodies,
  });
  const asUser = {
    mode,
    ...(roles && { roles: roles.lookup }),
    maxHeaderBytes: target.headerBytes,
    upstreamRights: createOwnRights(build, upstream),
  };
  const subjects = createAccessSubjects(asUser);
  const authenticators = [...(tokens ? [tokens.authenticator] : []), ...credentials.authenticators];
  const proxy: ProxyParts = {
    ...{ clock, mode, authenticators, reviewer, discovery, reasonOf, policies: policies?.policies },
    ...{ streams, responseMemory, subjects, ownBodies, owners },
    asIdentity: createIdentityRequests({
      ...asUser,
      subjects,
      fetcher: upstream,
      bodyRules: () => stages().bodyRules,
    }),
  };
  const withProxy = <P extends Parts>(feature: Reads<P>) => ({ ...buildFor(feature), ...proxy });
  const index = built && createSharedIndex(withProxy(FEATURES.rbacIndex), built);
  const namespaces = index && createNamespaces(withProxy(FEATURES.namespaces), index);
  const allNamespaces = index && createAllNamespaces(withProxy(FEATURES.allNamespaces), index);
  const filteredReason =
    index && createFilteredReason({ mode, namespaces, wouldMerge: allNamespaces?.wouldMerge });
  const accessRules = access && createAccessRules(withProxy(FEATURES.accessRules), access);
  const quota = withProxy(FEATURES.quota);
  const quotas = createShownQuotas(quota.parts.controller?.place, quota);
  const directory = keystone?.client.directory;
  const keystoneNames = directory && createKeystoneNames({ directory, clock });
  const teams = createTeams(withProxy(FEATURES.teams), memberships, tenants);
  const members = createMembers(withProxy(FEATURES.members), {
    ...{ access, teams: teams.directory, keystone: keystoneNames },
  });
  const invitations = createInvitations(withProxy(FEATURES.invitations), {
    ...{ access, tenants, members, teams },
  });
  const namespaceOf = createProjectNamespace(names);
  const warningsOn = createWarnings({ mode, discovered: discovery.resources, access });
  const explain = createExplain({ stages, reviewer, reasonOf, filteredReason, warningsOn });
  const given: readonly (Feature | undefined)[] = [
    { authenticators },
    { readiness: [credentials.readiness, ...(built ? [built.readiness] : [])] },
    { readiness: memberships ? [createTeamReadiness(memberships, clock, startedAt)] : [] },
    { provisioner: controlled?.provisioning },
    tokens?.feature(accessRules?.namespacesOf),
    createTenantBoundary(withProxy(FEATURES.tenantBoundary)),
    { admission: [methodAdmission, createBodySizeAdmission(server.limits.bodyBytes)] },
    createAdmission(proxy),
    createRates(buildFor(FEATURES.rates)),
    createTraces(buildFor(FEATURES.traces)),
    createClientSetup(buildFor(FEATURES.clientSetup)),
    discovery.feature,
    createOwnTenant(withProxy(FEATURES.ownTenant)),
    createExplainFeature(explain, ownBodies, namespaceOf),
    createSelfReviews(withProxy(FEATURES.selfReviews), access, filteredReason),
    { tenantEntry: policies?.policies },
    namespaces,
    allNamespaces,
    accessRules,
    quotas,
    { readiness: controlled?.quota ? [createQuotaReadiness(controlled.quota, clock, startedAt)] : [] },
    members,
    teams,
    invitations,
    createWhoCan(withProxy(FEATURES.whoCan), access, keystoneNames, ownUserName(ownCredential(loaded))),
    index && buildFor(FEATURES.hideForbidden).parts.isOn ? createHideForbidden(mode, index) : undefined,
  ];
  const features = given.filter((feature) => feature !== undefined);
  const served = features.flatMap(({ ownResources = [] }) => ownResources);
  const ownAPI = createOwnAPI(served, OWN_RESOURCES);
  const own = createOwnAPIFeature({ ...mode, ownAPI, served, fetcher: upstream, reviewer, reasonOf });
  return {
    ...{ mode, reviewer, reasonOf, roles, credentials, asUser, ownAPI, explain, namespaceOf },
    ...{ policies, access, memberships },
    extensions: combineFeatures([...features, own]),
    requested: (): readonly RequestedTotals[] => controlled?.quota?.counter?.requested() ?? [],
  };
}

/** Builds the controllers, which work on the replica with the lease, whatever is requested. */
function buildControllers(
  { buildFor }: AppBuild,
  policies: ConfiguredPolicies | undefined,
  { memberships, keep }: ControllerOptions,
) {
  const keystoneQuota = createServedKeystoneQuota(
    buildFor(FEATURES.keystoneLimits),
    (settings) => provisioningTenancy(createTenancyMode(settings), true).tenantOf,
  );
  const provisioning = createServedProvisioning(buildFor(FEATURES.bindings), keystoneQuota);
  createPolicyController(buildFor(FEATURES.crossTenant), { updates: policies?.updates, keep, memberships });
  createServedPublishing(buildFor(FEATURES.publishing), keep);
  return { provisioning, quota: createQuotaController(buildFor(FEATURES.quota), keystoneQuota) };
}

/** The path to which a review about the tenant is posted. */
export function accessReviewPath(tenant: TenantName | undefined, resource: string): string {
  const prefix = tenant === undefined ? '' : `tenants/${tenant}/`;
  return `/apis/authorization.k8s.io/v1/${prefix}${resource}`;
}
