/**
 * The authenticators of a configuration in the order in which they are asked, and whether their sources were reached.
 */

import type {
  ClientCertificatesConfiguration,
  KeystoneConfiguration,
  TokenReviewConfiguration,
} from '../api/config-v1alpha1.ts';
import type { KeystoneToken } from '../api/keystone-v3.ts';
import { type Authenticator, createAuthenticationReadiness } from '../authentication/authenticator.ts';
import { createJWTAuthenticator } from '../authentication/jwt.ts';
import { createKeystoneAuthenticator } from '../authentication/keystone.ts';
import { tagsOfToken } from '../authentication/keystone-cache.ts';
import { identityOf } from '../authentication/keystone-mapping.ts';
import {
  createBasicAuthFileAuthenticator,
  createTokenFileAuthenticator,
  MAX_HASHES,
} from '../authentication/static-files.ts';
import { createTokenReviewAuthenticator, tenantOfReviewed } from '../authentication/token-review.ts';
import { createX509Authenticator } from '../authentication/x509.ts';
import { createTokenReviewClient } from '../clients/token-reviewer.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { staticUsersOf } from '../config/static-users.ts';
import { StatusError } from '../errors/status-error.ts';
import { createUnknownCredentialGate } from '../flowcontrol/unknown-credential-gate.ts';
import { tenantTag, userTag } from '../lib/drop-tags.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { isTenantName } from '../tenancy/tenant-name.ts';
import type { Adapters } from './adapters.ts';
import type { Surroundings } from './made-of.ts';

/** @param mode names the people, for what an operator drops from the cache by name */
export function authenticatorsOf(
  loaded: LoadedConfiguration,
  adapters: Adapters,
  surroundings: Surroundings,
  mode: TenancyMode,
): { authenticators: readonly Authenticator[]; readiness: ReadinessCheck } {
  const { authentication } = loaded.configuration;
  const { keystone, clientCertificates, tokenReview, requireAllIssuers } = authentication;
  const issuers = authentication.jwt.map((configuration) => ({
    configuration,
    keys: adapters.issuer(loaded, configuration),
  }));
  const authenticators = [
    ...(keystone ? [keystoneAuthenticator(loaded, keystone, adapters, surroundings, mode)] : []),
    ...(issuers.length > 0 ? [createJWTAuthenticator({ issuers, clock: surroundings.clock })] : []),
    ...staticAuthenticators(loaded, surroundings),
    ...(clientCertificates ? [x509Authenticator(loaded, clientCertificates, surroundings)] : []),
    // The last: it takes whatever the others have left.
    ...(tokenReview ? [tokenReviewAuthenticator(loaded, tokenReview, adapters, surroundings)] : []),
  ];
  const sources = [
    ...(keystone ? [adapters.keystone(loaded, keystone).contact] : []),
    ...issuers.map(({ keys }) => keys),
  ];
  return { authenticators, readiness: createAuthenticationReadiness(sources, requireAllIssuers) };
}

function keystoneAuthenticator(
  loaded: LoadedConfiguration,
  keystone: KeystoneConfiguration,
  adapters: Adapters,
  { clock, telemetry }: Surroundings,
  mode: TenancyMode,
): Authenticator {
  const { limits } = loaded.configuration;
  return createKeystoneAuthenticator({
    identity: adapters.keystone(loaded, keystone).client,
    cache: adapters.tokens(loaded, keystone),
    gate: createUnknownCredentialGate({ ...limits.unknownCredentials, clock, telemetry }),
    tokenProvider: keystone.tokenProvider,
    clock,
    tagsOf: (token) => tagsOf(token, mode),
  });
}

function x509Authenticator(
  { configuration }: LoadedConfiguration,
  clientCertificates: ClientCertificatesConfiguration,
  { clock }: Surroundings,
): Authenticator {
  const { mode, systemTenant } = configuration.tenancy;
  return createX509Authenticator({
    ...clientCertificates,
    tenantInNames: mode === 'shared',
    systemTenant,
    clock,
  });
}

function tokenReviewAuthenticator(
  loaded: LoadedConfiguration,
  tokenReview: TokenReviewConfiguration,
  adapters: Adapters,
  { clock, telemetry }: Surroundings,
): Authenticator {
  const { limits, tenancy } = loaded.configuration;
  const rules = {
    tenant: tokenReview.tenant,
    isOrdinaryTenant: tenancy.mode === 'arktos' ? ordinaryTenants(tenancy.systemTenant) : undefined,
  };
  return createTokenReviewAuthenticator({
    reviewer: createTokenReviewClient({ ...tokenReview, fetcher: adapters.upstream(loaded), clock }),
    cache: adapters.reviewed(loaded, tokenReview),
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

/** Fit to be a tenant's name, and not one of those by which Arktos means more than one tenant. */
function ordinaryTenants(systemTenant: string): (word: string) => boolean {
  const reserved = new Set(['system', 'all', systemTenant]);
  return (word) => isTenantName(word) && !reserved.has(word);
}

/** What is wrong in their files was said when they were loaded. */
function staticAuthenticators(loaded: LoadedConfiguration, { clock, random, telemetry }: Surroundings) {
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

/** A person's entry can be dropped by Keystone's id, by the name the API server knows, or with their tenant. */
export function tagsOf(token: KeystoneToken, mode: TenancyMode): readonly string[] {
  const tags = tagsOfToken(token);
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
