/**
 * The adapters a configuration needs, each built from its part of it. What was built of the same stays over a
 * reload; what was replaced is ended once no request needs it any more.
 */
import type {
  JWTConfiguration,
  KeystoneConfiguration,
  TokenReviewConfiguration,
} from '../api/config-v1alpha1.ts';
import type { KeystoneToken } from '../api/keystone-v3.ts';
import { keystoneTokenCodec } from '../authentication/keystone-cache.ts';
import type { CredentialCache, ForgettingCredentialCache } from '../authentication/ports.ts';
import { type ReviewedUser, reviewedUserCodec } from '../authentication/token-review.ts';
import type { ClearableCredentialCache } from '../cache/credential-cache-parts.ts';
import type { SharedCache } from '../cache/shared-cache.ts';
import type { LeaseStore } from '../cache/shared-store.ts';
import { createCredentialCache } from '../cache/tiered.ts';
import { createStartupProbe, type StartupProbe } from '../clients/first-contact.ts';
import { createKeystoneClient, type KeystoneClient } from '../clients/keystone.ts';
import { createIssuerKeys, type DiscoveredIssuerKeys } from '../clients/oidc-issuer-keys.ts';
import { type AskedUpstreamRights, createUpstreamRights } from '../clients/upstream-rights.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { optionalExtraKeysOf } from '../config/validate-names.ts';
import { createKept, type Keeping, type Kept, keepTogether, type TwoStep } from '../lib/kept.ts';
import { createUpstream, type Upstream } from '../upstream/upstream.ts';
import { KeystoneParts, type RoleCaches } from './keystone-parts.ts';
import {
  fingerprintOf,
  ownUpstreamOptions,
  type Shared,
  type Surroundings,
  serviceSecret,
  sharedMadeOf,
  sharedOf,
  upstreamMadeOf,
} from './made-of.ts';

export interface Keystone {
  readonly client: KeystoneClient;
  readonly contact: StartupProbe;
}

interface OwnRights {
  readonly rights: AskedUpstreamRights;
  /** Equal for the same server, the same files of the credential, whatever they contain, and the same questions. */
  readonly about: string;
}

/** For one issuer: the document and the keys together. */
const ISSUER_TIMEOUT = 10_000;

/** The parts that live as long as what they are made of. What is asked for is prepared, until it is committed. */
export class Adapters implements TwoStep {
  readonly #around: Surroundings;
  /** Not closed yet: the current one, and replaced ones that still have watches or tunnels. */
  readonly #upstreams = new Set<Upstream>();
  readonly #upstream = createKept<Upstream>(async (upstream) => {
    await upstream.close();
    this.#upstreams.delete(upstream);
  });
  readonly #rights = createKept<OwnRights>(
    ({ rights }) => rights.stop(),
    ({ rights }) => rights.start(),
  );
  readonly #shared = createKept<Shared>(({ cache }) => cache.close());
  readonly #keystone = createKept<Keystone>(
    ({ client, contact }) => {
      contact.stop();
      return client.close();
    },
    ({ contact }) => contact.start(),
  );
  readonly #tokens = createKept<ClearableCredentialCache<KeystoneToken>>((cache) => cache.clear());
  readonly #reviewed = createKept<ClearableCredentialCache<ReviewedUser>>((cache) => cache.clear());
  readonly #issuers = new Map<string, Kept<DiscoveredIssuerKeys>>();

  readonly #keystoneParts: KeystoneParts;
  readonly #all: Keeping = keepTogether(() => [
    this.#upstream,
    this.#rights,
    this.#shared,
    this.#keystone,
    this.#tokens,
    this.#reviewed,
    this.#keystoneParts.all,
    ...this.#issuers.values(),
  ]);

  constructor(surroundings: Surroundings) {
    this.#around = surroundings;
    this.#keystoneParts = new KeystoneParts(surroundings);
  }

  upstream(loaded: LoadedConfiguration): Upstream {
    return this.#upstream.take(upstreamMadeOf(loaded), () => {
      const built = createUpstream({ ...this.#around, ...ownUpstreamOptions(loaded) });
      this.#upstreams.add(built);
      return built;
    });
  }

  /** What Stonegate's own credential may impersonate. With a renewed one that is not forgotten, but asked for again. */
  upstreamRights(loaded: LoadedConfiguration): AskedUpstreamRights {
    const { authentication, tenancy, upstream } = loaded.configuration;
    const optionalKeys = optionalExtraKeysOf(authentication);
    const mayBeConstrained = tenancy.mode === 'shared';
    const madeOf = fingerprintOf(upstreamMadeOf(loaded), optionalKeys, mayBeConstrained);
    const about = fingerprintOf(upstream.server, upstream.credential, optionalKeys, mayBeConstrained);
    const fetcher = this.upstream(loaded);
    const built = this.#rights.take(madeOf, () => {
      const { current } = this.#rights;
      const known = current?.about === about ? { known: current.rights } : {};
      const options = { ...this.#around, fetcher, optionalKeys, mayBeConstrained, ...known };
      return { rights: createUpstreamRights(options), about };
    });
    return built.rights;
  }

  /**
   * The one in force, for whatever asks in its own time and not for a request.
   *
   * @throws Error before the first commit
   */
  get upstreamInForce(): Upstream {
    const { current } = this.#upstream;
    if (current === undefined) throw new Error('nothing is in force yet');
    return current;
  }

  keystone(loaded: LoadedConfiguration, keystone: KeystoneConfiguration): Keystone {
    const ca = keystone.caFile === undefined ? {} : { ca: loaded.file(keystone.caFile).toString() };
    const { serviceCredential: credential } = keystone;
    const secret = credential === undefined ? '' : serviceSecret(loaded, credential);
    const madeOf = fingerprintOf(keystone, ca, secret);
    const built = this.#keystone.take(madeOf, () => {
      const client = createKeystoneClient({
        ...this.#around,
        url: keystone.url,
        ...ca,
        ...(credential === undefined ? {} : { credential }),
        readSecret: () => secret,
        timeout: keystone.timeout,
      });
      const contact = createStartupProbe({
        name: 'keystone',
        contact: () => client.probe(),
        ...this.#around,
      });
      return { client, contact };
    });
    this.#keystoneParts.follow(loaded, keystone, built.client, madeOf, this.shared(loaded));
    return built;
  }

  /** What Keystone said of people's roles; undefined where none are looked up. */
  roles(loaded: LoadedConfiguration, keystone: KeystoneConfiguration): RoleCaches | undefined {
    return this.#keystoneParts.roles(loaded, keystone, this.shared(loaded));
  }

  /** What Keystone said of tokens. */
  tokens(loaded: LoadedConfiguration, keystone: KeystoneConfiguration): CredentialCache<KeystoneToken> {
    const { cache } = loaded.configuration;
    const shared = this.shared(loaded);
    // With what the shared cache is made of: a cache kept longer than that would ask a closed one.
    return this.#tokens.take(fingerprintOf(cache, keystone, loaded.digest, sharedMadeOf(loaded)), () =>
      createCredentialCache({
        ...this.#around,
        name: 'keystone',
        ttl: keystone.cacheTTL,
        negativeTTL: keystone.negativeCacheTTL,
        staleIfUnavailable: keystone.staleIfUnavailable,
        maxEntries: cache.maxEntries,
        configurationDigest: loaded.digest,
        shared,
        codec: keystoneTokenCodec,
      }),
    );
  }

  /** Users that the API server has authenticated by TokenReview. */
  reviewed(
    loaded: LoadedConfiguration,
    { cacheTTL, negativeCacheTTL }: TokenReviewConfiguration,
  ): ForgettingCredentialCache<ReviewedUser> {
    const { maxEntries } = loaded.configuration.cache;
    const madeOf = fingerprintOf(maxEntries, cacheTTL, negativeCacheTTL, loaded.digest, sharedMadeOf(loaded));
    const shared = this.shared(loaded);
    return this.#reviewed.take(madeOf, () =>
      createCredentialCache({
        ...this.#around,
        name: 'token-review',
        ttl: cacheTTL,
        negativeTTL: negativeCacheTTL,
        staleIfUnavailable: 0,
        maxEntries,
        configurationDigest: loaded.digest,
        shared,
        codec: reviewedUserCodec,
      }),
    );
  }

  /** Forgets what is cached in this process. */
  forget(): void {
    this.#tokens.current?.clear();
    this.#reviewed.current?.clear();
    this.#keystoneParts.forget();
  }

  shared(loaded: LoadedConfiguration): SharedCache {
    return this.#sharedParts(loaded).cache;
  }

  /** By which replicas agree on who does something; undefined without Redis. */
  leases(loaded: LoadedConfiguration): LeaseStore | undefined {
    return this.#sharedParts(loaded).leases;
  }

  #sharedParts(loaded: LoadedConfiguration): Shared {
    return this.#shared.take(sharedMadeOf(loaded), () => sharedOf(loaded, this.#around));
  }

  issuer(loaded: LoadedConfiguration, jwt: JWTConfiguration): DiscoveredIssuerKeys {
    const { url, discoveryURL, caFile, certificateAuthority } = jwt.issuer;
    const ca = caFile === undefined ? certificateAuthority : loaded.file(caFile);
    const kept = this.#issuers.get(url) ?? createKept(closeKeys, startKeys);
    this.#issuers.set(url, kept);
    const { keysMaxAge, keysRefreshInterval } = jwt;
    const { ownKeys } = jwt.strict;
    return kept.take(fingerprintOf(discoveryURL, ca, ownKeys, keysMaxAge, keysRefreshInterval), () =>
      createIssuerKeys({
        ...this.#around,
        url,
        discoveryURL,
        ca,
        ownKeys,
        maxAge: keysMaxAge,
        refreshInterval: keysRefreshInterval,
        timeout: ISSUER_TIMEOUT,
      }),
    );
  }

  /** What was asked for since the last commit is in force, and nothing else. */
  commit(): void {
    this.#all.commit();
  }

  rollback(): Promise<void> {
    return this.#all.rollback();
  }

  /** @returns ends what was replaced until now; to be called when no request needs it any more */
  former(): () => Promise<void> {
    return this.#all.former();
  }

  /** To be called when no client is left: what is still asked of the API server is asked for nobody. */
  async close(): Promise<void> {
    const ended = this.#all.end();
    await Promise.all([...this.#upstreams].map((upstream) => upstream.destroy()));
    await ended;
  }
}

const closeKeys = (keys: DiscoveredIssuerKeys) => keys.close();
const startKeys = (keys: DiscoveredIssuerKeys) => keys.start();
