/**
 * What the portal is created with, and what its handlers get.
 */
import type { Logger } from '../../lib/logger.ts';
import type { ExpiringCache } from '../../limits/expiring-cache.ts';
import type { SignInRateLimiter } from '../../limits/sign-in-rate-limit.ts';
import type { IdentitySource } from '../../proxy/identity-source.ts';
import type { PortalPage, Visit } from '../../proxy/portal-page.ts';
import type { SessionStages } from '../../proxy/session-request.ts';
import type { ProjectNamespace } from '../../tenancy/keystone-v3.ts';
import type { ClientSetup } from '../client-setup/client-setup-v1alpha1.ts';
import type { Account } from './account.ts';
import type { Client } from './assets.ts';
import type { FormTokens } from './csrf.ts';
import type { ClusterFacts } from './kubeconfig.ts';
import type { Provider } from './oidc-portal.ts';
import type { PasswordLogin } from './portal-password-login.ts';
import type { Sealer, Session, SessionStore } from './portal-storage.ts';
import type { PortalRequest } from './request.ts';

export interface KeystoneSignIn {
  readonly displayName: string;
  /** Prefills the field of the form. */
  readonly defaultDomain: string | undefined;
  readonly login: Pick<PasswordLogin, 'signIn' | 'rescope'>;
}

export interface PortalOptions extends SessionStages {
  /** Those of the features; in the context, with the portal's own. */
  readonly pages: readonly OwnPage[];
  /** The URL that browsers use, such as `https://login.example.com`. */
  readonly publicURL: string;
  readonly cluster: ClusterFacts;
  /** Undefined if it was not built. */
  readonly client?: Client | undefined;
  /** Of Stonegate, and of its executables. */
  readonly version: string;
  /** Where there are executables of the command; see `executables.ts`. */
  readonly commandURL?: string | undefined;
  /** The document that commands read at `/.well-known/stonegate`. */
  readonly clientSetup: ClientSetup;
  readonly providers: readonly Provider[];
  /** Undefined if users cannot sign in with a password. */
  readonly keystone: KeystoneSignIn | undefined;
  readonly identities: IdentitySource;
  readonly namespaceOf: ProjectNamespace;
  readonly sessions: SessionStore;
  readonly limit: SignInRateLimiter;
  readonly sealer: Sealer;
  /** The longest life of a session, in milliseconds. */
  readonly sessionLifetime: number;
  readonly logger: Logger;
}

export interface PortalContext extends PortalOptions {
  readonly origin: string;
  readonly formTokens: FormTokens;
  /** The flashes whose pages were shown, by their digests. */
  readonly shownFlashes: ExpiringCache<true>;
}

/** A page that knows the portal too. */
export type OwnPage = PortalPage<OwnVisit>;

export interface OwnVisit extends Visit {
  readonly account: Account;
  readonly session: Session;
  readonly request: PortalRequest;
  readonly context: PortalContext;
}
