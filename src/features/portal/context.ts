/**
 * What the portal is created with, and what its handlers get.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { IdentitySource } from '../../proxy/identity-source.ts';
import type { TrustedProxies } from '../../proxy/request/client-address.ts';
import type { FormTokens } from './csrf.ts';
import type { ClusterFacts } from './kubeconfig.ts';
import type {
  AccessSource,
  PasswordLogin,
  Provider,
  Sealer,
  SessionStore,
  SignInRateLimit,
} from './ports.ts';

export interface KeystoneSignIn {
  readonly displayName: string;
  /** Prefills the field of the form. */
  readonly defaultDomain: string | undefined;
  readonly login: PasswordLogin;
}

export interface PortalOptions {
  /** The URL that browsers use, such as `https://login.example.com`. */
  readonly publicURL: string;
  readonly trustedProxies: TrustedProxies;
  readonly cluster: ClusterFacts;
  readonly providers: readonly Provider[];
  /** Undefined if users cannot sign in with a password. */
  readonly keystone: KeystoneSignIn | undefined;
  readonly identities: IdentitySource;
  /** Undefined if there is no RBAC index. */
  readonly access?: AccessSource | undefined;
  readonly sessions: SessionStore;
  readonly limit: SignInRateLimit;
  readonly sealer: Sealer;
  /** The longest life of a session, in milliseconds. */
  readonly sessionLifetime: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface PortalContext extends PortalOptions {
  readonly origin: string;
  readonly formTokens: FormTokens;
}
