/**
 * The portal of a configuration. Sessions in memory and the key of this process belong to the process and
 * outlive reloads.
 */

import { ComponentType } from '../../config/component.ts';
import type { Exchange } from '../../lib/exchange.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { certificatesIn } from '../../lib/transport-security.ts';
import { createSignInRateLimit, type SignInRateLimiter } from '../../limits/sign-in-rate-limit.ts';
import type { RequestObserver } from '../../observability/request-observer.ts';
import { createIdentitySource } from '../../proxy/identity-source.ts';
import type { SessionStages } from '../../proxy/session-request.ts';
import type { Stages } from '../../proxy/stages.ts';
import type { ProjectNamespace } from '../../tenancy/keystone-v3.ts';
import type { FeatureBuild } from '../build.ts';
import type { ClientSetup } from '../client-setup/client-setup-v1alpha1.ts';
import { type Client, readClient, readVersion } from './assets.ts';
import type { KeystoneSignIn, PortalOptions } from './context.ts';
import type { PortalParts } from './feature.ts';
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

export function createPortalState({ clock, random }: Runtime, observer: RequestObserver): PortalState {
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
  readonly pages: PortalOptions['pages'];
  readonly clientSetup: ClientSetup;
  readonly namespaceOf: ProjectNamespace;
  /** Sessions end with another one. */
  readonly identityDigest: string;
}

/**
 * @param proxy that serves the API, so that the portal maps users as the API does
 * @returns undefined if no portal is configured
 */
export function createConfiguredPortal(
  build: FeatureBuild<PortalParts>,
  { stages, pages, clientSetup, namespaceOf, identityDigest }: PortalProxy,
  state: PortalState,
): ((exchange: Exchange) => Promise<void>) | undefined {
  const { parts, scope, runtime, shared } = build;
  const { page } = parts;
  if (page === undefined) return undefined;
  const { kubernetes, publicURL } = page;
  const { trustedProxies, limiter, responseMemory } = stages;
  return createPortal({
    ...runtime,
    publicURL,
    ...{ trustedProxies, limiter, responseMemory, observer: state.observer },
    cluster: {
      name: kubernetes.name,
      server: kubernetes.server,
      portalURL: publicURL,
      ca: page.ca && certificatesIn(page.ca),
      keystoneURL: page.keystone.publicURL ?? page.keystoneURL,
      keystoneCA: page.keystoneCA && certificatesIn(page.keystoneCA),
    },
    ...{ client: state.client, version: state.version },
    commandURL: page.commandURL,
    clientSetup,
    providers: createProviders(build),
    keystone: createKeystoneSignIn(build, page.keystone),
    identities: createIdentitySource(stages.authenticators, stages.mode),
    namespaceOf,
    pages,
    sessions: page.hasRedis
      ? createSharedSessions({ ...runtime, shared: shared.cache, configurationDigest: identityDigest })
      : state.sessions,
    limit: scope.component(SIGN_IN_LIMIT, parts.signInLimits, [], (limits) =>
      createSignInRateLimit({ ...limits, clock: runtime.clock }),
    ),
    sealer:
      page.sealingSecrets.length === 0
        ? state.sealer
        : createPortalSealer(
            page.sealingSecrets.map((secret) => Buffer.from(secret, 'base64')),
            runtime.random,
          ),
    sessionLifetime: page.sessionLifetime,
  });
}

function createKeystoneSignIn(
  { parts, scope, runtime }: FeatureBuild<PortalParts>,
  { displayName, defaultDomain }: { readonly displayName: string; readonly defaultDomain?: string },
): KeystoneSignIn | undefined {
  if (parts.password === undefined) return undefined;
  const login = scope.component(PASSWORD_LOGIN, parts.password, [], (options) =>
    createPasswordLogin({ ...runtime, ...options }),
  );
  return { displayName, defaultDomain, login };
}

function createProviders({ parts, scope, runtime }: FeatureBuild<PortalParts>): Provider[] {
  return parts.providers.map(({ shown, options }) => {
    const login = scope.component(OIDC_LOGIN, options, [], (options) =>
      createOIDCLogin({ ...options, ...runtime }),
    );
    return { ...shown, ca: options.ca && certificatesIn(options.ca), login };
  });
}
