/**
 * The pipeline that a configuration describes: its stages, in the order that `pipeline/serve-request.ts` gives them,
 * with the adapters behind their ports.
 */

import { createAccessReviewsAdmission, isAccessReview } from '../admission/access-reviews.ts';
import type { BodyAdmission } from '../admission/body-admission.ts';
import { createBodySizeAdmission } from '../admission/body-size.ts';
import { createDefinitionScope } from '../admission/definition-scope.ts';
import { methodAdmission } from '../admission/method.ts';
import { createProtobufBodyAdmission } from '../admission/protobuf-body.ts';
import { createRoleBindingsAdmission } from '../admission/role-bindings.ts';
import { watchListAdmission } from '../admission/watch-list.ts';
import type { TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { createAnonymousAccess } from '../authentication/anonymous.ts';
import { type AccessReviewer, reviewOf } from '../authorization/access-reviewer.ts';
import { createConnectCreate } from '../authorization/connect-create.ts';
import { createExplanationsAuthorizer } from '../authorization/explanations.ts';
import { createSharedResources } from '../authorization/shared-resources.ts';
import { createTenantBoundary } from '../authorization/tenant-boundary.ts';
import { createUpgradePlaces } from '../authorization/upgrade-places.ts';
import type { RequestProvisioning } from '../bindings/on-request.ts';
import { createDocumentCache } from '../cache/document-cache.ts';
import { DocumentChanges } from '../cache/document-changes.ts';
import { createAccessReviewer } from '../clients/kube-apiserver.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { createBodyMemory } from '../flowcontrol/body-memory.ts';
import type { StreamCredential } from '../flowcontrol/open-stream.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import { createTenantLimit } from '../flowcontrol/tenant-limit.ts';
import { InFlightCounter } from '../lib/in-flight.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import { createDiscoveryAnswerer } from '../pipeline/answer-discovery.ts';
import { createExplanationAnswerer } from '../pipeline/answer-explanation.ts';
import { selfIdentityAnswerer } from '../pipeline/answer-self-identity.ts';
import { createSelfReviewAnswerer } from '../pipeline/answer-self-review.ts';
import { createAskedAbout } from '../pipeline/asked-about.ts';
import { parseTrustedProxies } from '../pipeline/client-address.ts';
import { createDiscoveryDocuments } from '../pipeline/discovery-documents.ts';
import { createExplain, type Explain } from '../pipeline/explain-request.ts';
import { createBodyInspection } from '../pipeline/inspect-body.ts';
import { LastModes } from '../pipeline/last-modes.ts';
import { recheckStreams } from '../pipeline/open-stream.ts';
import type { Exchange, RequestObserver, UpstreamResponse } from '../pipeline/ports.ts';
import { decodeSubjectReview } from '../pipeline/review-protobuf.ts';
import { type Pipeline, serveRequest } from '../pipeline/serve-request.ts';
import type { Stages } from '../pipeline/stages.ts';
import { createSystemDiscovery } from '../pipeline/system-discovery.ts';
import { writeStatus } from '../server/status-writer.ts';
import { rememberedMode } from '../tenancy/remembered-mode.ts';
import { isSelfReview } from '../tenancy/self-review.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Adapters } from './adapters.ts';
import { authenticatorsOf } from './authenticators-of.ts';
import type { Surroundings } from './made-of.ts';
import { roleLookupOf } from './role-lookup-of.ts';
import { tenancyModeOf } from './tenancy-mode-of.ts';

export interface BuiltPipeline {
  serve(exchange: Exchange): Promise<void>;
  /** Validates a credential of open streams again; see `recheckStreams`. */
  recheck(credential: StreamCredential): Promise<void>;
  readonly undecided: InFlightCounter;
  readonly authentication: ReadinessCheck;
  /** Without the last: for whoever only wants to know what would happen. */
  readonly stages: Stages;
  readonly explain: Explain;
}

/** What all tenants' discovery documents may take together. */
const DISCOVERY_BYTES = 64 * 1024 * 1024;
/** And one tenant's: a few forms of OpenAPI's larger document beside all the small ones. */
const TENANT_DISCOVERY_BYTES = 16 * 1024 * 1024;
/**
 * How long the system tenant's documents are kept after a change that concerns every tenant: each tenant asks for them
 * then.
 */
const SYSTEM_RECENT_TTL = 1_000;
/** A kubectl without a cache asks for all groups at once. */
const TENANT_FETCHES = { running: 8, waiting: 256 };
/** The longest body of a self review. */
const REVIEW_BYTES = 64 * 1024;
/** What the bodies under inspection may take, of all tenants together and of each. */
const INSPECTED_BYTES = { totalBytes: 128 * 1024 * 1024, tenantBytes: 16 * 1024 * 1024 };
/** The longest request to explain one, a token of some 16 kB in it. */
const EXPLANATION_BYTES = 256 * 1024;

/**
 * @param observer sees every request
 * @param streams those of the process
 * @param provisioning makes what people need when they come; absent where nothing is made then
 */
export function pipelineOf(
  loaded: LoadedConfiguration,
  adapters: Adapters,
  surroundings: Surroundings,
  observer: RequestObserver,
  streams: StreamRegistry,
  provisioning?: RequestProvisioning,
): BuiltPipeline {
  const { server, upstream: upstreamConfiguration, tenancy, authentication, limits } = loaded.configuration;
  const { clock, random } = surroundings;
  const mode = rememberedMode(tenancyModeOf(tenancy, authentication));
  const upstream = adapters.upstream(loaded);
  const reviewer = createAccessReviewer({ fetcher: upstream, path: accessReviewPath });
  const { authenticators, readiness } = authenticatorsOf(loaded, adapters, surroundings, mode);
  const roles = roleLookupOf(loaded, adapters, mode);
  const tenantLimit = limits.perTenant && createTenantLimit({ ...limits.perTenant, clock });
  // One for both caches: what one of them told would be news to the other.
  const changes = new DocumentChanges({
    shared: adapters.shared(loaded),
    period: tenancy.discoveryTTL,
    ...surroundings,
  });
  const documentCache = {
    ttl: tenancy.discoveryTTL,
    maxBytes: DISCOVERY_BYTES,
    ownerBytes: TENANT_DISCOVERY_BYTES,
    fetches: TENANT_FETCHES,
    sizeOf: ({ body }: UpstreamResponse) => body.length,
    keep: ({ status }: UpstreamResponse) => status === 200,
    changes,
    ...surroundings,
  };
  const tenantDocuments = createDocumentCache<UpstreamResponse>(documentCache);
  const systemDocuments = createDocumentCache<UpstreamResponse>({
    ...documentCache,
    ownerBytes: DISCOVERY_BYTES,
    recentTTL: SYSTEM_RECENT_TTL,
    keep: ({ status }: UpstreamResponse) => status === 200 || status === 404,
  });
  const system = createSystemDiscovery({
    ...surroundings,
    fetcher: upstream,
    cache: systemDocuments,
    ttl: tenancy.discoveryTTL,
  });
  const discovery = createDiscoveryDocuments({ fetcher: upstream, cache: tenantDocuments, mode, system });
  const bodyTimeout = server.timeouts.body;
  const stages: Stages = {
    clock,
    random,
    trustedProxies: parseTrustedProxies(server.trustedProxies),
    authenticators,
    anonymousAccess: createAnonymousAccess(authentication.anonymous),
    mode,
    ...(roles && { roles }),
    ...(provisioning && { provisioning }),
    impersonation: {
      reviewer,
      extraKeys: new Set(authentication.impersonationExtraKeys),
      lastModes: new LastModes(),
    },
    upstreamRights: adapters.upstreamRights(loaded),
    authorizers: [
      createUpgradePlaces(mode),
      createTenantBoundary({ isSystem: mode.isSystem }),
      createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant }),
      createSharedResources({
        discovered: discovery,
        mayBeShared: mode.mayBeShared,
        allowedGroups: new Set(tenancy.sharedAPIGroups),
      }),
      createExplanationsAuthorizer({ ...mode, reviewer }),
    ],
    admission: [
      methodAdmission,
      createBodySizeAdmission(server.limits.bodyBytes),
      ...(mode.protobuf === 'refused' ? [createProtobufBodyAdmission(isDecoded)] : []),
      ...(mode.watchLists === 'refused' ? [watchListAdmission] : []),
    ],
    limitTenant: (tenant) => tenantLimit?.admit(tenant),
    maxHeaderBytes: upstreamConfiguration.headerBytes,
  };
  const explain = createExplain({ stages, reviewer });
  const pipeline: Pipeline = {
    ...stages,
    observer,
    answerers: [
      createDiscoveryAnswerer(discovery),
      createSelfReviewAnswerer({
        fetcher: upstream,
        reviewer,
        mode,
        ...(roles && { askedAbout: createAskedAbout(roles, stages) }),
        clock,
        limits: { bodyBytes: REVIEW_BYTES, bodyTimeout },
      }),
      selfIdentityAnswerer,
      createExplanationAnswerer({ explain, clock, limits: { bodyBytes: EXPLANATION_BYTES, bodyTimeout } }),
    ],
    bodies: createBodyInspection({
      admissions: bodyAdmissions(mode, reviewer),
      memory: createBodyMemory(INSPECTED_BYTES),
      fetcher: upstream,
      clock,
      bodyTimeout,
    }),
    forwarder: upstream,
    tunneller: upstream,
    undecided: new InFlightCounter(),
    streams,
    discoveryChanged: (owner) => changes.changed(owner),
    writeStatus,
  };
  return {
    serve: (exchange) => serveRequest(exchange, pipeline),
    async recheck(credential) {
      const inFlight = pipeline.undecided.enter();
      try {
        await recheckStreams(credential, stages);
      } finally {
        inFlight.release();
      }
    },
    undecided: pipeline.undecided,
    authentication: readiness,
    stages,
    explain,
  };
}

/** Whether Stonegate reads the body itself, and sends it on as JSON. */
function isDecoded(info: RequestInfo): boolean {
  return isSelfReview(info) || isAccessReview(info);
}

function bodyAdmissions(mode: TenancyMode, reviewer: AccessReviewer): BodyAdmission[] {
  const knowsTenants = (tenant: TenantName) => mode.reviewTenant(tenant) !== undefined;
  const isConfined = (tenant: TenantName) => knowsTenants(tenant) && !mode.isSystem(tenant);
  return [
    createAccessReviewsAdmission({
      knowsTenants,
      isConfined,
      decodeProtobuf: (body, { apiVersion }) => decodeSubjectReview(body, apiVersion),
    }),
    ...(mode.readsTenantFromPath ? [createDefinitionScope(mode)] : []),
    createRoleBindingsAdmission({
      isConfined,
      review({ user, sender, tenant, signal }, attributes) {
        const home = mode.reviewTenant(tenant);
        const resourceAttributes = { ...attributes, ...(home !== undefined && { tenant: home }) };
        return reviewOf(reviewer, { user, sender, home, tenant }, { resourceAttributes }, signal);
      },
    }),
  ];
}

/** Where a review about that tenant is posted. */
export function accessReviewPath(tenant: TenantName | undefined, resource: string): string {
  const place = tenant === undefined ? '' : `tenants/${tenant}/`;
  return `/apis/authorization.k8s.io/v1/${place}${resource}`;
}
