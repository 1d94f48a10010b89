/**
 * The pipeline of a configuration: the stages of `pipeline/serve-request.ts` with the adapters behind their
 * ports.
 */

import type { TenantName } from '../api/identity.ts';
import { INSPECTED_BODIES } from '../api/memory-bounds.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import type { RequestProvisioning } from '../bindings/on-request.ts';
import { createAccessReviewer } from '../clients/kube-apiserver.ts';
import type { StreamCredential } from '../flowcontrol/open-stream.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { StreamLifetimesOptions } from '../flowcontrol/stream-lifetimes.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import { ByteBudget } from '../lib/byte-budget.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Answerer, Pipeline } from '../pipeline/delivery.ts';
import { createDiscoveryAnswerer } from '../pipeline/discovery/answer-discovery.ts';
import { createExplain, type Explain } from '../pipeline/explain/explain-request.ts';
import { createWarnings } from '../pipeline/explain/warnings.ts';
import { createExplanationAnswerer } from '../pipeline/own-api/answer-explanation.ts';
import { createOwnDiscoveryAnswerer } from '../pipeline/own-api/answer-own-discovery.ts';
import { selfIdentityAnswerer } from '../pipeline/own-api/answer-self-identity.ts';
import type { Exchange, RequestObserver } from '../pipeline/ports.ts';
import { type AccessSubjects, createAccessSubjects } from '../pipeline/rbac/access-subject.ts';
import { createReasonOf } from '../pipeline/rbac/rbac-reasons.ts';
import { createBodyInspection } from '../pipeline/request/inspect-body.ts';
import { permitsStream, recheckStreams } from '../pipeline/request/open-stream.ts';
import { createGuestReviewAnswerer } from '../pipeline/self-review/answer-guest-review.ts';
import { createSelfReviewAnswerer } from '../pipeline/self-review/answer-self-review.ts';
import { serveRequest } from '../pipeline/serve-request.ts';
import type { Stages } from '../pipeline/stages.ts';
import { createOwnTenantAnswerer } from '../pipeline/tenants/answer-own-tenant.ts';
import type { Policies } from '../policy/ports.ts';
import type { AccessSource } from '../portal/ports.ts';
import { writeStatus } from '../server/status-writer.ts';
import { memoizedMode } from '../tenancy/tenancy-mode.ts';
import { type AccessFeatures, createAccessFeatures } from './access-features.ts';
import { createAuthentication } from './authenticators.ts';
import { bodyAdmissions } from './body-admissions.ts';
import type { Build } from './build.ts';
import { createDiscovery, type Discovery } from './discovery.ts';
import { createRoles } from './keystone.ts';
import { createAccessIndex } from './rbac-index.ts';
import { reviewPathsOf } from './reviewed-writes.ts';
import { createStages } from './stages.ts';
import { createTenancyMode } from './tenancy-mode.ts';
import { createOwnUpstream } from './upstream.ts';

export interface ConfiguredPipeline {
  /** Serves a request of a client of the API. */
  serve(exchange: Exchange): Promise<void>;
  /** Validates a credential of open streams again; see `recheckStreams`. */
  recheck(credential: StreamCredential): Promise<void>;
  /** Whether the policies in force permit a guest's stream. */
  readonly permits: StreamLifetimesOptions['permits'];
  readonly authentication: ReadinessCheck;
  readonly stages: Stages;
  readonly explain: Explain;
  /** What users may do, for the portal; undefined without the RBAC index. */
  readonly accessSource: AccessSource | undefined;
  /** Clears what is cached of credentials in this process. */
  clear(): void;
}

/** Of a self review's body. */
const REVIEW_BYTES = 64 * 1024;
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
  /** Who may enter other tenants; absent: no user. */
  readonly policies?: Policies | undefined;
  /** Whether an operator reads the explanations, not the user of the request. */
  readonly isOperator?: boolean;
}

export function createPipeline(build: Build, options: PipelineOptions): ConfiguredPipeline {
  const { provisioning, policies, responseMemory, streams } = options;
  const mode = memoizedMode(createTenancyMode(build.loaded.configuration));
  const upstream = createOwnUpstream(build);
  const reviewer = createAccessReviewer({ fetcher: upstream, path: accessReviewPath });
  const credentials = createAuthentication(build, mode);
  const roles = createRoles(build, mode);
  const discovery = createDiscovery(build, { fetcher: upstream, mode });
  const discovered = discovery.documents;
  const access = createAccessIndex(build);
  const reasonOf = access && createReasonOf(access, mode, options.isOperator);
  const stages = createStages(build, {
    mode,
    authenticators: credentials.authenticators,
    roles: roles?.lookup,
    provisioning,
    reviewer,
    discovered,
    reasonOf,
    policies,
  });
  const subjects = createAccessSubjects(stages);
  const served = { stages, subjects, reviewer, discovered, responseMemory, streams };
  const features = access && createAccessFeatures(build, { access, ...served });
  const filteredReason = features?.filtering.reason;
  const warningsOn = createWarnings({ mode, discovered, access });
  const explain = createExplain({ stages, reviewer, reasonOf, filteredReason, warningsOn });
  const adapters = { stages, upstream, reviewer, discovery, subjects, features, explain };
  const pipeline = assemble(build, options, adapters);
  return {
    serve: (exchange) => serveRequest(exchange, pipeline),
    async recheck(credential) {
      const inFlight = build.generation.inFlight.enter();
      try {
        await recheckStreams(credential, stages);
      } finally {
        inFlight.release();
      }
    },
    permits: (stream, now) => permitsStream(stream, policies, now),
    authentication: credentials.readiness,
    stages,
    explain,
    accessSource: features?.source,
    clear() {
      credentials.clear();
      roles?.clear();
    },
  };
}

interface Adapters {
  readonly stages: Stages;
  readonly upstream: ReturnType<typeof createOwnUpstream>;
  readonly reviewer: AccessReviewer;
  readonly discovery: Discovery;
  readonly subjects: AccessSubjects;
  /** Undefined without the RBAC index. */
  readonly features: AccessFeatures | undefined;
  readonly explain: Explain;
}

/** The stages, and what the last one delivers with. */
function assemble(
  build: Build,
  { observer, streams, responseMemory }: PipelineOptions,
  adapters: Adapters,
): Pipeline {
  const { stages, upstream, reviewer, discovery, features } = adapters;
  const lists = features?.filtering.lists;
  return {
    ...stages,
    observer,
    answerers: answerers(build, adapters),
    bodies: createBodyInspection({
      admissions: bodyAdmissions(stages.mode, reviewer),
      reviewPathOf: reviewPathsOf(build.loaded),
      convertsProtobuf: stages.mode.protobuf === 'asJSON',
      memory: new ByteBudget(INSPECTED_BODIES),
      fetcher: upstream,
      clock: stages.clock,
      bodyTimeout: build.loaded.configuration.server.timeouts.body,
    }),
    ...(features?.hiding && { hiding: features.hiding }),
    ...(lists && { creations: lists.namespaces }),
    forwarder: upstream,
    tunneller: upstream,
    undecided: build.generation.inFlight,
    streams,
    responseMemory,
    discoveryChanged: discovery.changed,
    writeStatus,
  };
}

/** What is answered and not forwarded; the first that answers counts. */
function answerers(
  { loaded }: Build,
  { stages, upstream, reviewer, discovery, subjects, features, explain }: Adapters,
): readonly Answerer[] {
  const { mode, clock, ownAPI, policies } = stages;
  const bodyTimeout = loaded.configuration.server.timeouts.body;
  const filtering = features?.filtering;
  return [
    createDiscoveryAnswerer(discovery.documents),
    createOwnTenantAnswerer({ fetcher: upstream, cache: discovery.cache, clock }),
    createOwnDiscoveryAnswerer({ ownAPI, fetcher: upstream }),
    createSelfReviewAnswerer({
      fetcher: upstream,
      reviewer,
      mode,
      requestAs: subjects.requestAs,
      ...(filtering && { filteredReview: filtering.review }),
      ...(features && { indexed: features.rulesTrust }),
      clock,
      limits: { bodyBytes: REVIEW_BYTES, bodyTimeout },
    }),
    ...(policies
      ? [
          createGuestReviewAnswerer({
            mode,
            policies,
            reviewer,
            clock,
            limits: { bodyBytes: REVIEW_BYTES, bodyTimeout },
          }),
        ]
      : []),
    selfIdentityAnswerer,
    createExplanationAnswerer({ explain, clock, limits: { bodyBytes: EXPLANATION_BYTES, bodyTimeout } }),
    ...(filtering?.lists ? [filtering.lists.namespaces, filtering.lists.allNamespaces] : []),
    ...(features?.answerers ?? []),
  ];
}

/** The path to which a review about the tenant is posted. */
export function accessReviewPath(tenant: TenantName | undefined, resource: string): string {
  const prefix = tenant === undefined ? '' : `tenants/${tenant}/`;
  return `/apis/authorization.k8s.io/v1/${prefix}${resource}`;
}
