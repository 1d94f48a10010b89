/**
 * The portal that a configuration describes, with the adapters behind its ports. Sessions, limits and the key of this
 * process outlive a reload; connections do where what they are made of stays the same.
 */

import type {
  KeystoneConfiguration,
  PortalConfiguration,
  PortalOIDCConfiguration,
} from '../api/config-v1alpha1.ts';
import { authenticate } from '../authentication/authenticator.ts';
import { createPortalSealer } from '../cache/portal-sealer.ts';
import { createMemorySessions, createSharedSessions } from '../cache/portal-sessions.ts';
import { createOidcPortalLogin, type OidcPortalLogin } from '../clients/oidc-portal.ts';
import { createPortalPasswordLogin, type PortalPasswordLogin } from '../clients/portal-password-login.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { createSignInLimit } from '../flowcontrol/sign-in-limit.ts';
import { createKept, type Keeping, type Kept, keepTogether } from '../lib/kept.ts';
import type { Exchange } from '../pipeline/ports.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { KeystoneSignIn } from '../portal/context.ts';
import { createPortal } from '../portal/portal.ts';
import type { IdentitySource, Provider, Sealer, SessionStore, SignInLimit } from '../portal/ports.ts';
import type { Adapters } from './adapters.ts';
import { fingerprintOf, type Surroundings, sealingSecrets } from './made-of.ts';

/** In one process without Redis. */
const MAX_SESSIONS = 10_000;

type Identification = Pick<Stages, 'authenticators' | 'mode' | 'trustedProxies'>;

export class PortalParts {
  readonly #around: Surroundings;
  readonly #adapters: Adapters;
  readonly #memory: SessionStore;
  readonly #ownSealer: Sealer;
  readonly #limit = createKept<SignInLimit>(() => {});
  readonly #password = createKept<PortalPasswordLogin>((login) => login.close());
  readonly #issuers = new Map<string, Kept<OidcPortalLogin>>();
  readonly kept: Keeping = keepTogether(() => [this.#limit, this.#password, ...this.#issuers.values()]);

  constructor(around: Surroundings, adapters: Adapters) {
    this.#around = around;
    this.#adapters = adapters;
    this.#memory = createMemorySessions({ maxSessions: MAX_SESSIONS, clock: around.clock });
    this.#ownSealer = createPortalSealer([], around.random);
  }

  /**
   * Prepared, until `kept` is committed.
   *
   * @param identification of the API, so that the portal knows people as the API does
   */
  portal(
    loaded: LoadedConfiguration,
    portal: PortalConfiguration,
    identification: Identification,
  ): (exchange: Exchange) => Promise<void> {
    const { keystone } = loaded.configuration.authentication;
    const { kubernetes } = portal;
    return createPortal({
      ...this.#around,
      publicURL: portal.publicURL,
      trustedProxies: identification.trustedProxies,
      cluster: {
        name: kubernetes.name,
        server: kubernetes.server,
        ca: kubernetes.caFile === undefined ? undefined : loaded.file(kubernetes.caFile).toString(),
        keystoneURL: portal.keystone.publicURL ?? keystone?.url,
      },
      providers: portal.oidc.map((configuration) => this.#provider(loaded, configuration)),
      keystone: keystone && this.#keystone(loaded, portal, keystone),
      identities: identitiesOf(identification),
      sessions: this.#sessions(loaded),
      limit: this.#limit.take(fingerprintOf(portal.signInLimits), () =>
        createSignInLimit({ ...portal.signInLimits, clock: this.#around.clock }),
      ),
      sealer: this.#sealer(loaded),
      sessionLifetime: portal.sessionLifetime,
    });
  }

  #sessions(loaded: LoadedConfiguration): SessionStore {
    if (loaded.configuration.cache.redis === undefined) return this.#memory;
    const shared = this.#adapters.shared(loaded);
    return createSharedSessions({ ...this.#around, shared, configurationDigest: loaded.identityDigest });
  }

  #sealer(loaded: LoadedConfiguration): Sealer {
    const secrets = sealingSecrets(loaded).map((secret) => Buffer.from(secret, 'base64'));
    return secrets.length === 0 ? this.#ownSealer : createPortalSealer(secrets, this.#around.random);
  }

  #keystone(
    loaded: LoadedConfiguration,
    { keystone }: PortalConfiguration,
    { url, caFile, timeout }: KeystoneConfiguration,
  ): KeystoneSignIn | undefined {
    if (!keystone.enabled) return undefined;
    const ca = caFile === undefined ? {} : { ca: loaded.file(caFile).toString() };
    const login = this.#password.take(fingerprintOf(url, ca, timeout), () =>
      createPortalPasswordLogin({ ...this.#around, url, ...ca, timeout }),
    );
    return { displayName: keystone.displayName, defaultDomain: keystone.defaultDomain, login };
  }

  #provider(loaded: LoadedConfiguration, configuration: PortalOIDCConfiguration): Provider {
    const { name, issuer, clientID, clientSecret, displayName, scopes } = configuration;
    const { kubectlClientID = clientID, kubectlRedirectURI } = configuration;
    const known = loaded.configuration.authentication.jwt.find((jwt) => jwt.issuer.url === issuer)?.issuer;
    const { discoveryURL, caFile, certificateAuthority } = known ?? {};
    const options = {
      issuer,
      discoveryURL,
      clientID,
      clientSecret: clientSecret && loaded.secret(clientSecret),
      scopes,
      ca: caFile === undefined ? certificateAuthority : loaded.file(caFile).toString(),
    };
    const kept = this.#issuers.get(issuer) ?? createKept<OidcPortalLogin>((login) => login.close());
    this.#issuers.set(issuer, kept);
    const login = kept.take(fingerprintOf(options), () =>
      createOidcPortalLogin({ ...options, ...this.#around }),
    );
    return {
      name,
      displayName,
      issuer,
      kubectlClientID,
      kubectlRedirectURI,
      scopes,
      login,
    };
  }
}

function identitiesOf({ authenticators, mode }: Identification): IdentitySource {
  return {
    authenticate: async (credential, source) => authenticate(authenticators, credential, { source }),
    describe(identity) {
      const tenant = mode.tenantOf(identity);
      return { tenant, user: mode.userOf(identity, tenant) };
    },
  };
}
