/**
 * Access tokens: credentials that users make for themselves, with less than their rights. The tokens of the
 * cluster are known in every process, and outlive reloads.
 */
import { ComponentType, RUNS } from '../../config/component.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import type { Owners } from '../../identity/owners.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { OwnBodyOptions } from '../../proxy/own-body.ts';
import type { StreamRegistry } from '../../proxy/streams/stream-registry.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { FeatureBuild } from '../build.ts';
import { connectInformers } from '../connect-informers.ts';
import { OWN_ACCESS_TOKENS, OWN_ROTATIONS, STORED_TOKENS } from './access-token-v1alpha1.ts';
import { type AccessTokens, createAccessTokens } from './access-tokens.ts';
import { tokenResources } from './handle-tokens.ts';
import { createScopeAuthorizer } from './scope-authorizer.ts';
import { createTokenAuthenticator } from './token-authenticator.ts';
import { readToken, TokenStore } from './token-store.ts';
import { TokenUpkeep } from './token-upkeep.ts';

/**
 * Milliseconds without a sign of life of the API server after which a revocation may be missing: a bookmark
 * comes each minute, and one may be late by a minute.
 */
const STALE_AFTER = 120_000;

interface KnownTokens {
  readonly store: TokenStore;
  readonly informers: Informers;
}

const KNOWN_TOKENS = new ComponentType<KnownTokens>('access tokens', {
  start: ({ informers }) => informers.start(),
  stop: ({ informers }) => informers.stop(),
});
const UPKEEP = new ComponentType<TokenUpkeep>('upkeep of access tokens', RUNS);

export interface TokensOptions {
  readonly mode: TenancyMode;
  readonly owners: Owners;
  readonly streams: StreamRegistry;
  readonly bodies: OwnBodyOptions;
}

export interface ConfiguredTokens {
  readonly authenticator: Authenticator;
  readonly feature: Feature;
  /** For the portal. */
  readonly tokens: AccessTokens;
}

/** The feature in place of this one: requests for its resources get the reason. */
export const WITHOUT_TOKENS: Feature = {
  ownResources: [OWN_ACCESS_TOKENS, OWN_ROTATIONS].map((resource) => ({
    ...resource,
    unavailable: "are off: Stonegate's operator turns them on with the section tokens",
  })),
};

/** @returns undefined without the section `tokens` */
export function createTokens(
  build: FeatureBuild,
  { mode, owners, streams, bodies }: TokensOptions,
): ConfiguredTokens | undefined {
  const { loaded, runtime, provisioningUpstream: upstream } = build;
  const { tokens: section, tenancy } = loaded.configuration;
  if (section === undefined || upstream === undefined) return undefined;
  const { clock, random } = runtime;
  const place = {
    ...(tenancy.mode === 'arktos' && { tenant: tenancy.systemTenant }),
    namespace: section.namespace,
  };
  const objects = createObjects(upstream);
  const known = build.generation.component(KNOWN_TOKENS, {
    fingerprint: [loaded.configuration.upstream.server, section.namespace, tenancy],
    create() {
      const onEnded = (id: string) => {
        for (const credential of streams.credentials)
          if (credential.accessToken === id) credential.end('dropped');
      };
      const store = new TokenStore({ clock, onEnded });
      const informers = new Informers({ ...runtime, upstream, name: 'tokens' });
      informers.add({ path: collectionPath(STORED_TOKENS, place), read: readToken, store });
      return { store, informers };
    },
  });
  connectInformers(build.generation, known, upstream);
  const { store, informers } = known;
  const upkeep = build.generation.component(UPKEEP, {
    uses: [known, upstream],
    create: () => new TokenUpkeep({ ...runtime, store, objects, place, owners }),
  });
  const { resource } = STORED_TOKENS;
  const checks = { lifetimes: section.lifetimes, clock, store, owners };
  const describe = (identity: Parameters<TenancyMode['tenantOf']>[0]) => {
    const tenant = mode.tenantOf(identity);
    return { tenant, user: mode.userOf(identity, tenant) };
  };
  const tokens = createAccessTokens({ ...checks, random, objects, place, describe });
  const isStale = () => clock.now() - (informers.provenAt(resource) ?? 0) > STALE_AFTER;
  return {
    tokens,
    authenticator: createTokenAuthenticator({
      ...checks,
      mode,
      isStale,
      used: (token) => upkeep.used(token),
    }),
    feature: {
      authorizers: [
        createScopeAuthorizer({ store, mode, signedIn: ({ identity }) => upkeep.signedIn(identity) }),
      ],
      ownResources: tokenResources(tokens, { clock, bodies }),
    },
  };
}
