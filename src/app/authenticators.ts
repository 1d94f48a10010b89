/**
 * The authenticators of a configuration, in the order in which they are asked.
 */

import { tenantTag, userTag } from '../cache/drop-tags.ts';
import type { TieredCache } from '../cache/tiered.ts';
import { ComponentType } from '../config/component.ts';
import type {
  ClientCertificatesConfiguration,
  JWTConfiguration,
  TokenReviewConfiguration,
} from '../config/core-configuration.ts';
import { staticUsersOf } from '../config/static-users.ts';
import { type Authenticator, createAuthenticationReadiness } from '../identity/authenticator.ts';
import { createJWTAuthenticator } from '../identity/jwt/jwt.ts';
import { createKeystoneAuthenticator } from '../identity/keystone/keystone-authenticator.ts';
import { DiscoveredIssuerKeys } from '../identity/oidc/oidc-issuer-keys.ts';
import { createOwners, type EnabledUsers, type Owners } from '../identity/owners.ts';
import {
  createBasicAuthFileAuthenticator,
  createTokenFileAuthenticator,
  MAX_HASHES,
} from '../identity/static-files.ts';
import {
  createTokenReviewAuthenticator,
  createTokenReviewer,
  type ReviewedUser,
  reviewedUserCodec,
  tenantOfReviewed,
} from '../identity/token-review.ts';
import { createX509Authenticator } from '../identity/x509.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import { createUnknownCredentialGate } from '../limits/unknown-credential-gate.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { isTenantName } from '../tenancy/tenant-name.ts';
import { type ConnectedBuild, cacheType, createBackendCache } from './cache.ts';
import type { StonegateBuild } from './configuration.ts';
import { createTokenCache, tagsOfKeystoneToken } from './keystone.ts';

/** Milliseconds for an issuer's discovery document and its keys together. */
const ISSUER_TIMEOUT = 10_000;

export interface Authentication {
  readonly authenticators: readonly Authenticator[];
  /** The URLs of the configured issuers. */
  readonly issuers: readonly string[];
  /** Whether the backends have been reached. */
  readonly readiness: ReadinessCheck;
  /** Clears what is cached of credentials in this process. */
  clear(): void;
}

/** @param mode names users, for the operator who drops cached entries by name */
export function createAuthentication(build: ConnectedBuild, mode: TenancyMode): Authentication {
  const { loaded, runtime } = build;
  const { keystone, clientCertificates, tokenReview, requireAllIssuers } =
    loaded.configuration.authentication;
  const issuers = createIssuers(build);
  const tokens = keystone && createTokenCache(build, keystone);
  const reviewed =
    tokenReview &&
    createBackendCache(build, REVIEWED_USERS, {
      ttl: tokenReview.cacheTTL,
      negativeTTL: tokenReview.negativeCacheTTL,
      staleIfUnavailable: 0,
      codec: reviewedUserCodec,
    });
  const authenticators = [
    createKeystoneAuthentication(build, mode),
    issuers.length > 0 ? createJWTAuthenticator({ issuers, clock: runtime.clock }) : undefined,
    ...staticAuthenticators(build),
    clientCertificates && x509Authenticator(build, clientCertificates),
    // The last one: it takes every token that the others leave.
    tokenReview && reviewed && tokenReviewAuthenticator(build, tokenReview, reviewed),
  ].filter((authenticator) => authenticator !== undefined);
  const sources = [...(build.keystone ? [build.keystone.contact] : []), ...issuers.map(({ keys }) => keys)];
  return {
    authenticators,
    issuers: issuers.map(({ configuration }) => configuration.issuer.url),
    readiness: createAuthenticationReadiness(sources, requireAllIssuers),
    clear() {
      tokens?.clear();
      reviewed?.clear();
    },
  };
}

/**
 * @param perSource the rate of tokens that no cache knows, from one address
 * @returns undefined if no Keystone is configured
 */
export function createKeystoneAuthentication(
  build: ConnectedBuild,
  mode: TenancyMode,
  perSource = build.loaded.configuration.limits.unknownCredentials.perSource,
): Authenticator | undefined {
  const { loaded, runtime, keystone } = build;
  const { clock, telemetry } = runtime;
  const { authentication, limits } = loaded.configuration;
  if (authentication.keystone === undefined || keystone === undefined) return undefined;
  return createKeystoneAuthenticator({
    client: keystone.client,
    cache: createTokenCache(build, authentication.keystone),
    gate: createUnknownCredentialGate({ ...limits.unknownCredentials, perSource, clock, telemetry }),
    tokenProvider: authentication.keystone.tokenProvider,
    clock,
    tagsOf: (token) => tagsOfKeystoneToken(token, mode),
  });
}

const ISSUER = new ComponentType<DiscoveredIssuerKeys>("an issuer's keys", {
  start: (keys) => keys.start(),
  dispose: (keys) => keys.close(),
});

/** The configured issuers, each with its keys. */
export function createIssuers(build: StonegateBuild) {
  const { jwt } = build.loaded.configuration.authentication;
  return jwt.map((configuration) => ({ configuration, keys: createIssuer(build, configuration) }));
}

function createIssuer(
  { generation, loaded, runtime }: StonegateBuild,
  jwt: JWTConfiguration,
): DiscoveredIssuerKeys {
  const { url, discoveryURL, caFile, certificateAuthority } = jwt.issuer;
  const options = {
    url,
    discoveryURL,
    ca: caFile === undefined ? certificateAuthority : loaded.file(caFile),
    ownKeys: jwt.strict.ownKeys,
    maxAge: jwt.keysMaxAge,
    refreshInterval: jwt.keysRefreshInterval,
  };
  return generation.component(ISSUER, {
    fingerprint: [options],
    create: () => new DiscoveredIssuerKeys({ ...runtime, ...options, timeout: ISSUER_TIMEOUT }),
  });
}

function x509Authenticator(
  { loaded, runtime: { clock } }: StonegateBuild,
  clientCertificates: ClientCertificatesConfiguration,
): Authenticator {
  const { systemTenant } = loaded.configuration.tenancy;
  return createX509Authenticator({ ...clientCertificates, systemTenant, clock });
}

const REVIEWED_USERS = cacheType<ReviewedUser>('cache of reviewed users');

function tokenReviewAuthenticator(
  { loaded, runtime, upstream: fetcher }: ConnectedBuild,
  tokenReview: TokenReviewConfiguration,
  cache: TieredCache<ReviewedUser>,
): Authenticator {
  const { clock, telemetry } = runtime;
  const { limits, tenancy } = loaded.configuration;
  const rules = {
    tenant: tokenReview.tenant,
    isOrdinaryTenant: tenancy.facts.readsTenantFromName ? ordinaryTenants(tenancy.systemTenant) : undefined,
  };
  return createTokenReviewAuthenticator({
    review: createTokenReviewer({ ...tokenReview, fetcher, clock }),
    cache,
    gate: createUnknownCredentialGate({ ...limits.unknownCredentials, clock, telemetry }),
    rules,
    clock,
    tagsOf(reviewed) {
      const { username, uid } = reviewed.user;
      const tenant = tenantOfReviewed(reviewed, rules);
      return [
        userTag(username),
        ...(uid === '' ? [] : [userTag(uid)]),
        ...(tenant === undefined ? [] : [tenantTag(tenant)]),
      ];
    },
  });
}

/** Tests for a valid tenant name that is none of those by which Arktos means more than one tenant. */
function ordinaryTenants(systemTenant: string): (word: string) => boolean {
  const reserved = new Set(['system', 'all', systemTenant]);
  return (word) => isTenantName(word) && !reserved.has(word);
}

/** Loading has refused the configuration if these files have errors. */
function staticAuthenticators({
  loaded,
  runtime: { clock, random, telemetry },
}: StonegateBuild): Authenticator[] {
  const { configuration } = loaded;
  const { tokenFile, basicAuthFile } = staticUsersOf(configuration, loaded.file);
  const { unknownCredentials } = configuration.limits;
  const concurrent = Math.min(unknownCredentials.concurrent, MAX_HASHES);
  const gate = createUnknownCredentialGate({ ...unknownCredentials, concurrent, clock, telemetry });
  return [
    ...(tokenFile ? [createTokenFileAuthenticator({ ...tokenFile, random })] : []),
    ...(basicAuthFile ? [createBasicAuthFileAuthenticator({ ...basicAuthFile, gate, random })] : []),
  ];
}

/** Milliseconds: thirty days, as the default of `tokens.signInMaxAge`. */
const SIGN_IN_MAX_AGE = 30 * 24 * 3_600_000;

/** @param roles undefined if none are looked up: then users of Keystone own nothing */
export function createConfiguredOwners(
  { loaded, runtime }: StonegateBuild,
  { authenticators, issuers }: Pick<Authentication, 'authenticators' | 'issuers'>,
  roles: EnabledUsers | undefined,
): Owners {
  const { tokens } = loaded.configuration;
  const names = new Set([...authenticators.map(({ name }) => name), ...issuers]);
  return createOwners({
    ...runtime,
    keystone: roles,
    isConfigured: (source) => names.has(source),
    usersOf: (name) => authenticators.find((one) => one.name === name)?.users,
    facts: loaded.configuration.tenancy.facts,
    signInMaxAge: tokens?.signInMaxAge ?? SIGN_IN_MAX_AGE,
  });
}
