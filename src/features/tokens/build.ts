/**
 * Access tokens: credentials that users make for themselves, with less than their rights. Every process knows
 * all tokens, and keeps them over a reload.
 */
import { ComponentType, RUNS } from '../../config/component.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import type { Owners } from '../../identity/owners.ts';
import type { Informer } from '../../kubernetes/informer.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { OwnBodyOptions } from '../../proxy/own-body.ts';
import type { StreamRegistry } from '../../proxy/streams/stream-registry.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import { createTenantNamespaces } from '../../rbac/tenant-namespaces.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { FeatureBuild } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import { deleteFormerObjects } from '../former-objects.ts';
import type { OwnerUpkeep } from '../owner-upkeep.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import { STORED_TOKENS } from './access-token-v1alpha1.ts';
import { AccessTokens } from './access-tokens.ts';
import type { TokensParts } from './feature.ts';
import { tokenResources } from './handle-tokens.ts';
import { createScopeAuthorizer } from './scope-authorizer.ts';
import { createTokenAuthenticator } from './token-authenticator.ts';
import { type AccessToken, type ReadToken, readToken, TokenStore } from './token-store.ts';
import { createTokenUpkeep } from './token-upkeep.ts';
import { type NamespacesOf, tokensPage } from './tokens-page.ts';

interface KnownTokens {
  readonly store: TokenStore;
  readonly informers: Informers;
  readonly informer: Informer<ReadToken>;
}

const KNOWN_TOKENS = new ComponentType<KnownTokens>('access tokens', INFORMS);
const UPKEEP = new ComponentType<OwnerUpkeep<AccessToken>>('upkeep of access tokens', RUNS);

export interface TokensOptions {
  readonly mode: TenancyMode;
  readonly tenants: TenantUIDs;
  readonly owners: Owners;
  readonly streams: StreamRegistry;
  readonly bodies: OwnBodyOptions;
  /** Undefined if the configuration has no RBAC index. */
  readonly access: AccessIndex | undefined;
}

export interface ConfiguredTokens {
  readonly authenticator: Authenticator;
  /** @param namespacesOf undefined if there is no RBAC index */
  readonly feature: (namespacesOf: NamespacesOf | undefined) => Feature;
}

/** @returns undefined without the section `tokens` */
export function createTokens(
  build: FeatureBuild<TokensParts>,
  { mode, tenants, owners, streams, bodies, access }: TokensOptions,
): ConfiguredTokens | undefined {
  const { parts, scope, runtime, provisioningUpstream: upstream } = build;
  if (parts.known === undefined || parts.lifetimes === undefined || upstream === undefined) return undefined;
  const { clock, random } = runtime;
  const { place } = parts.known;
  const known = createComponentWithInformers(scope, KNOWN_TOKENS, parts.known, upstream, ({ place }) => {
    const onEnded = (id: string) => {
      for (const credential of streams.credentials)
        if (credential.accessToken === id) credential.end('dropped');
    };
    const store = new TokenStore({ clock, onEnded, tenants });
    const informers = new Informers({ ...runtime, upstream, name: 'tokens' });
    const path = collectionPath(STORED_TOKENS, place);
    return { store, informers, informer: informers.add({ path, read: readToken, store }) };
  });
  const { store, informer } = known;
  const objects = createObjects(upstream, STONEGATE_ACCOUNT);
  const { upkeep, used } = createTokenUpkeep({ ...runtime, store, place, owners, objects });
  if (!build.explains) scope.perGeneration(UPKEEP, [known, upstream], () => upkeep);
  deleteFormerObjects(build, [known, upstream], {
    ...{ kind: STORED_TOKENS, place, tenants, objects },
    values: () => store.values(),
  });
  const checks = { lifetimes: parts.lifetimes, clock, store, owners };
  const tokens = new AccessTokens({
    ...{ ...checks, random, place, mode, tenants },
    objectsOf: (tenant) => createObjects(upstream, { kind: 'tenant', tenant }),
  });
  return {
    authenticator: createTokenAuthenticator({
      ...{ ...checks, mode, informer, used },
      namespacesOf: createTenantNamespaces(access),
    }),
    feature: (namespacesOf) => ({
      authorizers: [
        createScopeAuthorizer({
          store,
          mode,
          signedIn: ({ identity, tenant }) => upkeep.signedIn(identity, tenant),
        }),
      ],
      ownResources: tokenResources(tokens, bodies),
      pages: [tokensPage(tokens, namespacesOf)],
    }),
  };
}
