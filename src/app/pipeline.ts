/**
 * The pipeline of a configuration: the stages of `pipeline/serve-request.ts` with the adapters behind their
 * ports.
 */
import { createHiddenObjects } from '../access/hidden-objects.ts';
import { withVerification } from '../access/verification.ts';
import { isAccessReview } from '../admission/access-reviews.ts';
import {
  createBodySizeAdmission,
  createProtobufBodyAdmission,
  methodAdmission,
} from '../admission/admission.ts';
import { watchListAdmission } from '../admission/watch-list.ts';
import type { TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { createAnonymousAccess } from '../authentication/anonymous.ts';
import { createConnectCreate } from '../authorization/connect-create.ts';
import { createOwnAPIRights } from '../authorization/own-api-rights.ts';
import { createSharedResources } from '../authorization/shared-resources.ts';
import { createTenantBoundary } from '../authorization/tenant-boundary.ts';
import { createUpgradePlaces } from '../authorization/upgrade-places.ts';
import type { RequestProvisioning } from '../bindings/on-request.ts';
import { createDocumentCache } from '../cache/document-cache.ts';
import { DocumentChanges } from '../cache/document-changes.ts';
import { createAccessReviewer } from '../clients/kube-apiserver.ts';
import type { StreamCredential } from '../flowcontrol/open-stream.ts';
import { createTenantRateLimit } from '../flowcontrol/rate-limits.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import { ByteBudget } from '../lib/byte-budget.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Pipeline } from '../pipeline/delivery.ts';
import { createDiscoveryAnswerer, createDiscoveryDocuments } from '../pipeline/discovery/answer-discovery.ts';
import { createSystemDiscovery } from '../pipeline/discovery/system-discovery.ts';
import { createExplain, type Explain } from '../pipeline/explain/explain-request.ts';
import { LastModes } from '../pipeline/impersonation/impersonation-modes.ts';
import { createExplanationAnswerer, selfIdentityAnswerer } from '../pipeline/own-api/answer-own-api.ts';
import { createOwnDiscoveryAnswerer } from '../pipeline/own-api/answer-own-discovery.ts';
import type { Exchange, RequestObserver, UpstreamResponse } from '../pipeline/ports.ts';
import { createAccessSubjects } from '../pipeline/rbac/access-subject.ts';
import { createForbiddenHiding } from '../pipeline/rbac/hide-forbidden.ts';
import { createReasonOf } from '../pipeline/rbac/rbac-reasons.ts';
import { parseTrustedProxies } from '../pipeline/request/client-address.ts';
import { createBodyInspection } from '../pipeline/request/inspect-body.ts';
import { recheckStreams } from '../pipeline/request/open-stream.ts';
import { createSelfReviewAnswerer } from '../pipeline/self-review/answer-self-review.ts';
import { serveRequest } from '../pipeline/serve-request.ts';
import type { Stages } from '../pipeline/stages.ts';
import { createOwnTenantAnswerer } from '../pipeline/tenants/answer-own-tenant.ts';
import type { AccessSource } from '../portal/ports.ts';
import { writeStatus } from '../server/status-writer.ts';
import { createOwnAPI } from '../tenancy/own-api.ts';
import { isSelfReview } from '../tenancy/self-review.ts';
import { memoizedMode } from '../tenancy/tenancy-mode.ts';
import { createAccessRules } from './access-rules.ts';
import { createAccessVerifier } from './access-verification.ts';
import { createAuthentication } from './authenticators.ts';
import { bodyAdmissions } from './body-admissions.ts';
import type { Build } from './build.ts';
import { createShared } from './cache.ts';
import { createFiltering } from './filtering.ts';
import { createRoles } from './keystone.ts';
import { createAccessIndex } from './rbac-index.ts';
import { createTenancyMode } from './tenancy-mode.ts';
import { createOwnRights, createOwnUpstream } from './upstream.ts';
import { createWatchLifetimes } from './watch-lifetimes.ts';
import { createWhoCan } from './who-can.ts';

export interface ConfiguredPipeline {
  /** Serves a request of a client of the API. */
  serve(exchange: Exchange): Promise<void>;
  /** Validates a credential of open streams again; see `recheckStreams`. */
  recheck(credential: StreamCredential): Promise<void>;
  readonly authentication: ReadinessCheck;
  readonly stages: Stages;
  readonly explain: Explain;
  /** What users may do, for the portal; undefined without the RBAC index. */
  readonly accessSource: AccessSource | undefined;
  /** Clears what is cached of credentials in this process. */
  clear(): void;
}

/** Memory for the discovery documents of all tenants. */
const DISCOVERY_BYTES = 64 * 1024 * 1024;
/** Those of one tenant: a few forms of the large OpenAPI document beside all small documents. */
const TENANT_DISCOVERY_BYTES = 16 * 1024 * 1024;
/** Milliseconds for which the system tenant's documents are cached after a change of every tenant's. */
const SYSTEM_RECENT_TTL = 1_000;
/** A kubectl without a cache requests all groups at once. */
const TENANT_FETCHES = { running: 8, waiting: 256 };
/** Of a self review's body. */
const REVIEW_BYTES = 64 * 1024;
/** Memory for bodies under inspection: in all, and of each tenant. */
const INSPECTED_BYTES = { total: 128 * 1024 * 1024, perKey: 16 * 1024 * 1024 };
/** The longest request for an explanation; it may contain a token of 16 kB. */
const EXPLANATION_BYTES = 256 * 1024;

export interface PipelineOptions {
  /** Sees every request. */
  readonly observer: RequestObserver;
  /** Of the process. */
  readonly streams: StreamRegistry;
  /** Of the process. */
  readonly responseMemory: ResponseMemory;
  /**
   * Creates what a user's project lacks before the request is forwarded; undefined if that is not
   * configured.
   */
  readonly provisioning?: RequestProvisioning | undefined;
}

export function createPipeline(build: Build, options: PipelineOptions): ConfiguredPipeline {
  const { loaded, runtime, generation } = build;
  const { observer, streams, responseMemory, provisioning } = options;
  const { server, upstream: upstreamConfiguration, tenancy, authentication, limits } = loaded.configuration;
  const { clock, random } = runtime;
  const mode = memoizedMode(createTenancyMode(loaded.configuration));
  const upstream = createOwnUpstream(build);
  const reviewer = createAccessReviewer({ fetcher: upstream, path: accessReviewPath });
  const credentials = createAuthentication(build, mode);
  const roles = createRoles(build, mode);
  const tenantLimit = limits.perTenant && createTenantRateLimit({ ...limits.perTenant, clock });
  // One for both caches: a change that one cache publishes would else be new to the other.
  const changes = new DocumentChanges({
    shared: createShared(build).cache,
    period: tenancy.discoveryTTL,
    ...runtime,
  });
  const documentCache = {
    ttl: tenancy.discoveryTTL,
    maxBytes: DISCOVERY_BYTES,
    ownerBytes: TENANT_DISCOVERY_BYTES,
    fetches: TENANT_FETCHES,
    sizeOf: ({ body }: UpstreamResponse) => body.length,
    isCacheable: ({ status }: UpstreamResponse) => status === 200,
    changes,
    ...runtime,
  };
  const tenantDocuments = createDocumentCache<UpstreamResponse>(documentCache);
  const systemDocuments = createDocumentCache<UpstreamResponse>({
    ...documentCache,
    ownerBytes: DISCOVERY_BYTES,
    recentTTL: SYSTEM_RECENT_TTL,
    isCacheable: ({ status }: UpstreamResponse) => status === 200 || status === 404,
  });
  const system = createSystemDiscovery({
    ...runtime,
    fetcher: upstream,
    cache: systemDocuments,
    ttl: tenancy.discoveryTTL,
  });
  const discovery = createDiscoveryDocuments({ fetcher: upstream, cache: tenantDocuments, mode, system });
  const bodyTimeout = server.timeouts.body;
  const access = createAccessIndex(build);
  const reasonOf = access && createReasonOf(access, mode);
  const stages: Stages = {
    clock,
    random,
    trustedProxies: parseTrustedProxies(server.trustedProxies),
    authenticators: credentials.authenticators,
    anonymousAccess: createAnonymousAccess(authentication.anonymous),
    mode,
    ownAPI: createOwnAPI({ index: loaded.configuration.access.index }),
    ...(roles && { roles: roles.lookup }),
    ...(provisioning && { provisioning }),
    impersonation: {
      reviewer,
      extraKeys: new Set(authentication.impersonationExtraKeys),
      lastModes: new LastModes(),
    },
    upstreamRights: createOwnRights(build),
    authorizers: [
      createUpgradePlaces(mode),
      createTenantBoundary({ isSystem: mode.isSystem }),
      createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant, reasonOf }),
      createSharedResources({
        discovered: discovery,
        mayBeShared: mode.mayBeShared,
        allowedGroups: new Set(tenancy.sharedAPIGroups),
      }),
      createOwnAPIRights({ ...mode, reviewer, reasonOf }),
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
  const explain = createExplain({ stages, reviewer, reasonOf });
  const verifier = access && createAccessVerifier(build, access, reviewer);
  const subjects = createAccessSubjects(stages);
  const lifetimes = createWatchLifetimes(build);
  const accessRules =
    access &&
    verifier &&
    createAccessRules(build, { access, verifier, stages, subjects, responseMemory, lifetimes });
  const filtering =
    access &&
    verifier &&
    createFiltering(build, {
      access,
      subjects,
      verifier,
      discovered: discovery,
      mode,
      reviewer,
      responseMemory,
      lifetimes,
    });
  const pipeline: Pipeline = {
    ...stages,
    observer,
    answerers: [
      createDiscoveryAnswerer(discovery),
      createOwnTenantAnswerer({ fetcher: upstream, cache: tenantDocuments, clock }),
      createOwnDiscoveryAnswerer({ ownAPI: stages.ownAPI, fetcher: upstream }),
      createSelfReviewAnswerer({
        fetcher: upstream,
        reviewer,
        mode,
        requestAs: subjects.requestAs,
        ...(filtering && { filteredReview: filtering.review }),
        ...(access && { access }),
        clock,
        limits: { bodyBytes: REVIEW_BYTES, bodyTimeout },
      }),
      selfIdentityAnswerer,
      ...(access && verifier
        ? [createWhoCan(build, withVerification(access, verifier), mode, responseMemory)]
        : []),
      ...(filtering ? [filtering.namespaces, filtering.allNamespaces] : []),
      createExplanationAnswerer({ explain, clock, limits: { bodyBytes: EXPLANATION_BYTES, bodyTimeout } }),
      ...(accessRules?.answerers ?? []),
    ],
    bodies: createBodyInspection({
      admissions: bodyAdmissions(mode, reviewer),
      memory: new ByteBudget(INSPECTED_BYTES),
      fetcher: upstream,
      clock,
      bodyTimeout,
    }),
    ...(access &&
      verifier &&
      loaded.configuration.authorization.hideForbidden && {
        hiding: createForbiddenHiding(createHiddenObjects(access, verifier), mode),
      }),
    forwarder: upstream,
    tunneller: upstream,
    undecided: generation.inFlight,
    streams,
    responseMemory,
    discoveryChanged: (owner) => changes.changed(owner),
    writeStatus,
  };
  return {
    serve: (exchange) => serveRequest(exchange, pipeline),
    async recheck(credential) {
      const inFlight = generation.inFlight.enter();
      try {
        await recheckStreams(credential, stages);
      } finally {
        inFlight.release();
      }
    },
    authentication: credentials.readiness,
    stages,
    explain,
    accessSource: accessRules?.source,
    clear() {
      credentials.clear();
      roles?.clear();
    },
  };
}

/** Whether Stonegate reads the body itself, and sends it on as JSON. */
function isDecoded(info: RequestInfo): boolean {
  return isSelfReview(info) || isAccessReview(info);
}

/** The path to which a review about the tenant is posted. */
export function accessReviewPath(tenant: TenantName | undefined, resource: string): string {
  const prefix = tenant === undefined ? '' : `tenants/${tenant}/`;
  return `/apis/authorization.k8s.io/v1/${prefix}${resource}`;
}
