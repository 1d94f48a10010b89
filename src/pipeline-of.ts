/**
 * The pipeline that a configuration describes: its stages, in the order that `pipeline/serve-request.ts` gives them,
 * with the adapters behind their ports.
 */
import type { Adapters, Surroundings } from './adapters.ts';
import { createBodySizeAdmission } from './admission/body-size.ts';
import type { AuthenticationConfiguration, TenancyConfiguration } from './api/config-v1alpha1.ts';
import type { TenantName } from './api/identity.ts';
import type { KeystoneToken } from './api/keystone-v3.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import { createJWTAuthenticator } from './authentication/jwt.ts';
import { createKeystoneAuthenticator } from './authentication/keystone.ts';
import { identityOf } from './authentication/keystone-mapping.ts';
import { createAuthenticationReadiness } from './authentication/readiness.ts';
import { createConnectCreate } from './authorization/connect-create.ts';
import { createTenantBoundary } from './authorization/tenant-boundary.ts';
import { createUpgradePlaces } from './authorization/upgrade-places.ts';
import { createDocumentCache } from './cache/document-cache.ts';
import { tenantTag, userTag } from './cache/drop.ts';
import { createAccessReviewer } from './clients/kube-apiserver.ts';
import type { LoadedConfiguration } from './config/load.ts';
import { StatusError } from './errors/status-error.ts';
import { createTenantLimit } from './flowcontrol/tenant-limit.ts';
import { createUnknownCredentialGate } from './flowcontrol/unknown-credential-gate.ts';
import type { ReadinessCheck } from './lib/readiness.ts';
import { Usage } from './lib/usage.ts';
import { createDiscoveryAnswerer } from './pipeline/answer-discovery.ts';
import { createSelfReviewAnswerer } from './pipeline/answer-self-review.ts';
import type { Answer } from './pipeline/answerer.ts';
import { parseTrustedProxies } from './pipeline/client-address.ts';
import type { Exchange } from './pipeline/exchange.ts';
import type { RequestObserver } from './pipeline/request-observer.ts';
import { type Pipeline, serveRequest } from './pipeline/serve-request.ts';
import { writeStatus } from './server/status-writer.ts';
import { createArktosMode } from './tenancy/arktos.ts';
import { rememberedMode } from './tenancy/remembered-mode.ts';
import { createSharedMode } from './tenancy/shared.ts';
import type { TenancyMode } from './tenancy/tenancy-mode.ts';

export interface BuiltPipeline {
  serve(exchange: Exchange): Promise<void>;
  /** Requests that may still ask what the pipeline is made of: those not yet handed to the API server. */
  readonly undecided: Usage<Exchange>;
  readonly authentication: ReadinessCheck;
}

/** What all tenants' discovery documents may take together. */
const DISCOVERY_BYTES = 64 * 1024 * 1024;
/** And one tenant's: a few forms of OpenAPI's larger document beside all the small ones. */
const TENANT_DISCOVERY_BYTES = 16 * 1024 * 1024;
/** A kubectl without a cache asks for all groups at once. */
const TENANT_FETCHES = { running: 8, waiting: 256 };
/** The longest body of a self review. */
const REVIEW_BYTES = 64 * 1024;

/**
 * @param observer sees every request
 */
export function pipelineOf(
  loaded: LoadedConfiguration,
  adapters: Adapters,
  surroundings: Surroundings,
  observer: RequestObserver,
): BuiltPipeline {
  const { server, upstream: upstreamConfiguration, tenancy, authentication, limits } = loaded.configuration;
  const { clock, random, telemetry } = surroundings;
  const mode = rememberedMode(modeOf(tenancy, authentication));
  const upstream = adapters.upstream(loaded);
  const reviewer = createAccessReviewer({ fetcher: upstream, path: accessReviewPath });
  const { authenticators, readiness } = authenticatorsOf(loaded, adapters, surroundings, mode);
  const tenantLimit = limits.perTenant && createTenantLimit({ ...limits.perTenant, clock });
  const discovery = createDocumentCache<Answer>({
    ttl: tenancy.discoveryTTL,
    maxBytes: DISCOVERY_BYTES,
    ownerBytes: TENANT_DISCOVERY_BYTES,
    fetches: TENANT_FETCHES,
    sizeOf: ({ body }) => body.length,
    keep: ({ status }) => status === 200,
    clock,
    telemetry,
  });
  const bodyLimits = { bodyBytes: REVIEW_BYTES, bodyTimeout: server.timeouts.body };
  const undecided = new Usage<Exchange>();
  const pipeline: Pipeline = {
    clock,
    random,
    trustedProxies: parseTrustedProxies(server.trustedProxies),
    observer,
    authenticators,
    mode,
    authorizers: [
      createUpgradePlaces(),
      createTenantBoundary({ isSystem: mode.isSystem }),
      createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant }),
    ],
    admission: [createBodySizeAdmission(server.limits.bodyBytes)],
    limitTenant: (tenant) => tenantLimit?.admit(tenant),
    maxHeaderBytes: upstreamConfiguration.headerBytes,
    answerers: [
      createDiscoveryAnswerer({ fetcher: upstream, cache: discovery, mode }),
      createSelfReviewAnswerer({ fetcher: upstream, reviewer, mode, clock, limits: bodyLimits }),
    ],
    forwarder: {
      forward(request, exchange, hooks) {
        const relayed = upstream.forward(request, exchange, hooks);
        undecided.leave(exchange);
        return relayed;
      },
    },
    tunneller: {
      tunnel(request, exchange, upgrade, hooks) {
        const relayed = upstream.tunnel(request, exchange, upgrade, hooks);
        undecided.leave(exchange);
        return relayed;
      },
    },
    writeStatus,
  };
  return {
    async serve(exchange) {
      undecided.enter(exchange);
      try {
        await serveRequest(exchange, pipeline);
      } finally {
        undecided.leave(exchange);
      }
    },
    undecided,
    authentication: readiness,
  };
}

function modeOf(tenancy: TenancyConfiguration, { jwt }: AuthenticationConfiguration): TenancyMode {
  switch (tenancy.mode) {
    case 'arktos':
      return createArktosMode(tenancy);
    case 'shared':
      return createSharedMode({
        domains: tenancy.domains,
        reservedNamePrefixes: jwt.map(({ claimMappings }) => claimMappings.username.prefix),
      });
  }
}

function authenticatorsOf(
  loaded: LoadedConfiguration,
  adapters: Adapters,
  surroundings: Surroundings,
  mode: TenancyMode,
): { authenticators: readonly Authenticator[]; readiness: ReadinessCheck } {
  const { authentication, limits } = loaded.configuration;
  const { clock, telemetry } = surroundings;
  const authenticators: Authenticator[] = [];
  const sources: ReadinessCheck[] = [];
  const { keystone } = authentication;
  if (keystone !== undefined) {
    const { client, contact } = adapters.keystone(loaded, keystone);
    sources.push(contact);
    authenticators.push(
      createKeystoneAuthenticator({
        identity: client,
        cache: adapters.tokens(loaded, keystone),
        gate: createUnknownCredentialGate({ ...limits.unknownCredentials, clock, telemetry }),
        tokenProvider: keystone.tokenProvider,
        clock,
        tagsOf: (token) => tagsOf(token, mode),
      }),
    );
  }
  if (authentication.jwt.length > 0) {
    const issuers = authentication.jwt.map((configuration) => ({
      configuration,
      keys: adapters.issuer(loaded, configuration),
    }));
    sources.push(...issuers.map(({ keys }) => keys));
    authenticators.push(createJWTAuthenticator({ issuers, clock }));
  }
  const readiness = createAuthenticationReadiness(sources, authentication.requireAllIssuers);
  return { authenticators, readiness };
}

/** A person's entry can be dropped by Keystone's id, by the name the API server knows, or with their tenant. */
function tagsOf(token: KeystoneToken, mode: TenancyMode): readonly string[] {
  const tags = [userTag(token.user.id)];
  try {
    const identity = identityOf(token);
    const tenant = mode.tenantOf(identity);
    return [...tags, tenantTag(tenant), userTag(mode.userOf(identity, tenant).username)];
  } catch (error) {
    // Valid for Keystone, but nobody here: that is cached too, under the id alone.
    if (error instanceof StatusError) return tags;
    throw error;
  }
}

/** Where a review about that tenant is posted. */
export function accessReviewPath(tenant: TenantName | undefined): string {
  const place = tenant === undefined ? '' : `tenants/${tenant}/`;
  return `/apis/authorization.k8s.io/v1/${place}subjectaccessreviews`;
}
