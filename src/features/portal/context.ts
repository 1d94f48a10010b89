/**
 * What the portal is created with, and what its handlers get.
 */
import type { Logger } from '../../lib/logger.ts';
import type { ExpiringCache } from '../../limits/expiring-cache.ts';
import type { SignInRateLimiter } from '../../limits/sign-in-rate-limit.ts';
import type { IdentitySource } from '../../proxy/identity-source.ts';
import type { SessionStages } from '../../proxy/session-request.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { AccessRules } from '../access-rules/build.ts';
import type { ProjectNamespace } from '../bindings/feature.ts';
import type { ClientSetup } from '../client-setup/client-setup-v1alpha1.ts';
import type { Invitations } from '../invitations/feature.ts';
import type { MembersService } from '../members/feature.ts';
import type { ShownQuota } from '../quota/own-quota-v1alpha1.ts';
import type { Teams } from '../teams/feature.ts';
import type { AccessTokens } from '../tokens/feature.ts';
import type { Client } from './assets.ts';
import type { FormTokens } from './csrf.ts';
import type { ClusterFacts } from './kubeconfig.ts';
import type { Provider } from './oidc-portal.ts';
import type { PasswordLogin } from './portal-password-login.ts';
import type { Sealer, SessionStore } from './portal-storage.ts';

export interface KeystoneSignIn {
  readonly displayName: string;
  /** Prefills the field of the form. */
  readonly defaultDomain: string | undefined;
  readonly login: Pick<PasswordLogin, 'signIn' | 'rescope'>;
}

/** What a user may do, from the RBAC index. */
type AccessSource = Pick<AccessRules, 'accessOf'>;

export type AccessView = Awaited<ReturnType<AccessSource['accessOf']>>;

/** Only the public members: a test gives an object of its own. */
export type MemberSource = Omit<MembersService, 'grant'>;
export type TokenSource = Pick<AccessTokens, keyof AccessTokens>;
export type TeamSource = Pick<Teams, keyof Teams>;
export type InvitationSource = Pick<Invitations, keyof Invitations>;

/** Where pages have their data from; without a source there is no page. */
export interface PageSources {
  /** Undefined if there is no RBAC index. */
  readonly access?: AccessSource | undefined;
  /** Which namespaces a user sees; undefined if there is no RBAC index. */
  readonly namespacesOf?: AccessRules['namespacesOf'] | undefined;
  /** Undefined if tenants have no quotas. */
  readonly quota?: { quotaOf(identity: Identity): Promise<ShownQuota | undefined> } | undefined;
  /** Undefined if there are no access tokens. */
  readonly tokens?: TokenSource | undefined;
  /** Undefined without the section `members`, as are the next two. */
  readonly members?: MemberSource | undefined;
  readonly teams?: TeamSource | undefined;
  readonly invitations?: InvitationSource | undefined;
}

export interface PortalOptions extends PageSources, SessionStages {
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
