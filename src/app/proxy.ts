/**
 * The proxy of a configuration: builds the stages of `proxy/serve-request.ts` and the features of
 * `features.ts`.
 */

import type { FeatureBuild } from '../features/build.ts';
import { createDiscovery } from '../features/discovery/feature.ts';
import type { Explain } from '../features/explain/explain-request.ts';
import type { PageSources } from '../features/portal/context.ts';
import { createAccessIndex } from '../features/rbac-index/feature.ts';
import { createMemberships } from '../features/teams/memberships.ts';
import { createTenancyMode } from '../features/tenancy-mode.ts';
import { createTokens } from '../features/tokens/feature.ts';
import { createAnonymousAccess } from '../identity/anonymous.ts';
import { createAccessReviewer } from '../kubernetes/access-reviewer.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import { ByteBudget } from '../limits/byte-budget.ts';
import { INSPECTED_BODIES } from '../limits/memory-bounds.ts';
import type { ResponseMemory } from '../limits/response-memory.ts';
import type { RequestObserver } from '../observability/request-observer.ts';
import { createAccessSubjects } from '../proxy/access-subject.ts';
import { createIdentityRequests } from '../proxy/as-identity.ts';
import type { ServingStages } from '../proxy/delivery.ts';
import { combineFeatures, type Provisioner } from '../proxy/feature.ts';
import { LastModes } from '../proxy/impersonation/impersonation-modes.ts';
import { createReasonOf } from '../proxy/rbac-reasons.ts';
import { parseTrustedProxies } from '../proxy/request/client-address.ts';
import { createBodyInspection } from '../proxy/request/inspect-body.ts';
import { permitsStream, recheckStreams } from '../proxy/request/open-stream.ts';
import { serveRequest } from '../proxy/serve-request.ts';
import type { StreamCredential } from '../proxy/streams/open-stream.ts';
import type { StreamLifetimesOptions } from '../proxy/streams/stream-lifetimes.ts';
import type { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import type { Policies } from '../proxy/tenant-entry.ts';
import { writeStatus } from '../server/status-writer.ts';
import { memoizedMode, withGroups } from '../tenancy/tenancy-mode.ts';
import { createAuthentication, createConfiguredOwners } from './authenticators.ts';
import { createFeatures } from './features.ts';
import { createRoles } from './keystone.ts';
import { reviewPathsOf } from './reviewed-writes.ts';
import { createOwnRights } from './upstream.ts';

export interface ConfiguredProxy {
  /** Serves a request of a client of the API. */
  serve(exchange: Exchange): Promise<void>;
  /** Validates a credential of open streams again; see `recheckStreams`. */
  recheck(credential: StreamCredential): Promise<void>;
  /** Whether the policies in force permit a guest's stream. */
  readonly permits: StreamLifetimesOptions['permits'];
  readonly authentication: ReadinessCheck;
  readonly stages: ServingStages;
  readonly explain: Explain;
  /** The portal's pages get their data from these. */
  readonly pages: PageSources;
  /** Clears what is cached of credentials in this process. */
  clear(): void;
}

export interface ProxyOptions {
  /** Sees every request. */
  readonly observer: RequestObserver;
  /** Shared by all requests of the process. */
  readonly streams: StreamRegistry;
  /** Shared by all requests of the process. */
  readonly responseMemory: ResponseMemory;
  /**
   * Creates what a user's project lacks before the request is forwarded; undefined if that is not
   * configured.
   */
  readonly provisioning?: Provisioner | undefined;
  /** Who may enter other tenants; absent: no user. */
  readonly policies?: Policies | undefined;
  /** Whether an operator reads the explanations, not the user of the request. */
  readonly isOperator?: boolean;
}

/** The longest body that clients post to Stonegate's own API: a token of 16 kB, or very many groups. */
const OWN_BODY_BYTES = 256 * 1024;

export function createProxy(build: FeatureBuild, options: ProxyOptions): ConfiguredProxy {
  const { runtime, generation, upstream } = build;
  const { configuration } = build.loaded;
  const { server, authentication } = configuration;
  const { provisioning, policies, responseMemory, streams } = options;
  const { clock } = runtime;
  const { body: bodyTimeout } = server.timeouts;
  const named = memoizedMode(createTenancyMode(configuration));
  const memberships = createMemberships(build);
  const mode = memberships ? withGroups(named, memberships.groupsOf) : named;
  const upstreamRights = createOwnRights(build);
  const reviewer = createAccessReviewer({ fetcher: upstream, path: accessReviewPath });
  const credentials = createAuthentication(build, mode);
  const roles = createRoles(build, mode);
  const discovery = createDiscovery(build, { fetcher: upstream, mode });
  const index = createAccessIndex(build);
  const reasonOf = index && createReasonOf(index, mode, options.isOperator);
  const maxHeaderBytes = configuration.upstream.headerBytes;
  const ownBodies = { clock, limits: { bodyBytes: OWN_BODY_BYTES, bodyTimeout } };
  const owners = createConfiguredOwners(build, credentials, roles);
  const tokens = createTokens(build, { mode, owners, streams, bodies: ownBodies, access: index });
  const asUser = { mode, ...(roles && { roles: roles.lookup }), maxHeaderBytes, upstreamRights };
  const subjects = createAccessSubjects(asUser);
  const bodyRules = () => stages.bodyRules;
  const parts = {
    ...{ clock, mode, upstream, reviewer, discovery, reasonOf, policies, provisioning },
    ...{ streams, responseMemory },
    authenticators: [...(tokens ? [tokens.authenticator] : []), ...credentials.authenticators],
    subjects,
    asIdentity: createIdentityRequests({ ...asUser, subjects, fetcher: upstream, bodyRules }),
    ownBodies,
    owners,
  };
  const { features, ownAPI, explain, pages } = createFeatures(build, parts, index, tokens, () => stages);
  const extensions = combineFeatures(features);
  const stages: ServingStages = {
    ...runtime,
    ...asUser,
    ...extensions,
    ownAPI,
    trustedProxies: parseTrustedProxies(server.trustedProxies),
    anonymousAccess: createAnonymousAccess(authentication.anonymous),
    impersonation: {
      reviewer,
      extraKeys: new Set(authentication.impersonationExtraKeys),
      lastModes: new LastModes(),
      reasonOf,
    },
    bodies: createBodyInspection({
      rules: extensions.bodyRules,
      reviewPathOf: reviewPathsOf(build.loaded),
      convertsProtobuf: mode.protobuf === 'asJSON',
      memory: new ByteBudget(INSPECTED_BODIES),
      ownBodyBytes: OWN_BODY_BYTES,
      fetcher: upstream,
      clock,
      bodyTimeout,
    }),
    observer: options.observer,
    forwarder: upstream,
    tunneller: upstream,
    undecided: generation.inFlight,
    streams,
    responseMemory,
    writeStatus,
  };
  return {
    serve: (exchange) => serveRequest(exchange, stages),
    async recheck(credential) {
      const inFlight = generation.inFlight.enter();
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
    pages,
    clear() {
      credentials.clear();
      roles?.clear();
    },
  };
}

/** The path to which a review about the tenant is posted. */
export function accessReviewPath(tenant: TenantName | undefined, resource: string): string {
  const prefix = tenant === undefined ? '' : `tenants/${tenant}/`;
  return `/apis/authorization.k8s.io/v1/${prefix}${resource}`;
}
