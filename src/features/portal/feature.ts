/**
 * The portal of a configuration. Sessions in memory and the key of this process belong to the process and
 * outlive reloads.
 */

import type { Build, RuntimeDependencies } from '../../config/build.ts';
import { ComponentType } from '../../config/component.ts';
import type {
  KeystoneConfiguration,
  PortalConfiguration,
  PortalOIDCConfiguration,
} from '../../config/configuration.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { certificatesIn } from '../../lib/transport-security.ts';
import { createSignInRateLimit, type SignInRateLimiter } from '../../limits/sign-in-rate-limit.ts';
import type { RequestObserver } from '../../observability/request-observer.ts';
import { createIdentitySource } from '../../proxy/identity-source.ts';
import type { SessionStages } from '../../proxy/session-request.ts';
import type { Stages } from '../../proxy/stages.ts';
import { createProjectNamespace } from '../bindings/feature.ts';
import { caOf, type FeatureBuild, sealingSecrets } from '../build.ts';
import { LOGIN_SCOPES } from '../client-setup/client-setup-v1alpha1.ts';
import { loadedClientSetup } from '../client-setup/feature.ts';
import { type Client, readClient, readVersion } from './assets.ts';
import type { KeystoneSignIn, PageSources } from './context.ts';
import { createOIDCLogin, type OIDCLogin, type Provider } from './oidc-portal.ts';
import { createPortal } from './portal.ts';
import { createPasswordLogin, type PasswordLogin } from './portal-password-login.ts';
import {
  createMemorySessions,
  createPortalSealer,
  createSharedSessions,
  type Sealer,
  type SessionStore,
} from './portal-storage.ts';

/** Bounds the sessions of one process without Redis. */
const MAX_SESSIONS = 10_000;

/** The state of the portal that survives reloads. */
export interface PortalState {
  /** Used without Redis. */
  readonly sessions: SessionStore;
  /** Used without sealing keys: its key is random. */
  readonly sealer: Sealer;
  readonly client: Client | undefined;
  readonly version: string;
  /** Sees every request to the portal. */
  readonly observer: RequestObserver;
}

export function createPortalState(
  { clock, random }: RuntimeDependencies,
  observer: RequestObserver,
): PortalState {
  return {
    observer,
    sessions: createMemorySessions({ maxSessions: MAX_SESSIONS, clock }),
    sealer: createPortalSealer([], random),
    client: readClient(),
    version: readVersion(),
  };
}

const SIGN_IN_LIMIT = new ComponentType<SignInRateLimiter>('limit of sign-ins');
const PASSWORD_LOGIN = new ComponentType<PasswordLogin>('password login', {
  dispose: (login) => login.close(),
});
const OIDC_LOGIN = new ComponentType<OIDCLogin>('OIDC login', { dispose: (login) => login.close() });

/** The parts of the proxy that the portal needs. */
export interface PortalProxy {
  readonly stages: Pick<Stages, 'authenticators' | 'mode'> &
    Pick<SessionStages, 'trustedProxies' | 'limiter' | 'responseMemory'>;
  readonly pages: PageSources;
}

/**
 * @param proxy that serves the API, so that the portal maps users as the API does
 * @returns undefined if no portal is configured
 */
export function createConfiguredPortal(
  build: FeatureBuild,
  { stages, pages }: PortalProxy,
  state: PortalState,
): ((exchange: Exchange) => Promise<void>) | undefined {
  const { generation, loaded, runtime } = build;
  const { authentication, portal, bindings } = loaded.configuration;
  if (portal === undefined) return undefined;
  const { keystone } = authentication;
  const { kubernetes, signInLimits } = portal;
  const keystoneCA = keystone && caOf(loaded, keystone).ca;
  const { trustedProxies, limiter, responseMemory } = stages;
  return createPortal({
    ...runtime,
    publicURL: portal.publicURL,
    ...{ trustedProxies, limiter, responseMemory, observer: state.observer },
    cluster: {
      name: kubernetes.name,
      server: kubernetes.server,
      portalURL: portal.publicURL,
      ca: kubernetes.caFile && certificatesIn(loaded.file(kubernetes.caFile).toString()),
      keystoneURL: portal.keystone.publicURL ?? keystone?.url,
      keystoneCA: keystoneCA && certificatesIn(keystoneCA),
    },
    ...{ client: state.client, version: state.version },
    commandURL: portal.commandURL,
    clientSetup: loadedClientSetup(loaded),
    providers: portal.oidc.map((configuration) => createProvider(build, configuration)),
    keystone: keystone && createKeystoneSignIn(build, portal, keystone),
    identities: createIdentitySource(stages.authenticators, stages.mode),
    namespaceOf: createProjectNamespace(bindings),
    ...pages,
    sessions: createSessions(build, state),
    limit: generation.component(SIGN_IN_LIMIT, {
      fingerprint: [signInLimits],
      create: () => createSignInRateLimit({ ...signInLimits, clock: runtime.clock }),
    }),
    sealer: createSealer(build, state),
    sessionLifetime: portal.sessionLifetime,
  });
}

function createSessions(build: FeatureBuild, { sessions }: PortalState): SessionStore {
  const { loaded, runtime, shared } = build;
  if (loaded.configuration.cache.redis === undefined) return sessions;
  return createSharedSessions({
    ...runtime,
    shared: shared.cache,
    configurationDigest: loaded.identityDigest,
  });
}

function createSealer({ loaded, runtime }: Build, { sealer }: PortalState): Sealer {
  const secrets = sealingSecrets(loaded).map((secret) => Buffer.from(secret, 'base64'));
  return secrets.length === 0 ? sealer : createPortalSealer(secrets, runtime.random);
}

function createKeystoneSignIn(
  { generation, loaded, runtime }: Build,
  { keystone: { enabled, displayName, defaultDomain } }: PortalConfiguration,
  keystone: KeystoneConfiguration,
): KeystoneSignIn | undefined {
  if (!enabled) return undefined;
  const options = { url: keystone.url, ...caOf(loaded, keystone), timeout: keystone.timeout };
  const login = generation.component(PASSWORD_LOGIN, {
    fingerprint: [options],
    create: () => createPasswordLogin({ ...runtime, ...options }),
  });
  return { displayName, defaultDomain, login };
}

function createProvider(
  { generation, loaded, runtime }: Build,
  { name, clientID, clientSecret }: PortalOIDCConfiguration,
): Provider {
  const jwt = loaded.configuration.authentication.jwt.find(({ login }) => login?.name === name);
  if (jwt?.login === undefined) throw new Error(`no issuer has the login ${name}`);
  const { displayName, clientID: kubectlClientID, scopes = LOGIN_SCOPES, redirectURI } = jwt.login;
  const { url: issuer, discoveryURL, caFile, certificateAuthority } = jwt.issuer;
  const options = {
    issuer,
    discoveryURL,
    clientID: clientID ?? kubectlClientID,
    clientSecret: clientSecret && loaded.secret(clientSecret),
    scopes,
    ca: caFile === undefined ? certificateAuthority : loaded.file(caFile).toString(),
  };
  const login = generation.component(OIDC_LOGIN, {
    fingerprint: [options],
    create: () => createOIDCLogin({ ...options, ...runtime }),
  });
  const facts = { name, displayName, issuer, kubectlClientID, kubectlRedirectURI: redirectURI, scopes };
  return { ...facts, ca: options.ca && certificatesIn(options.ca), login };
}
