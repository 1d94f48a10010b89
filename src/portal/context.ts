/**
 * Everything the portal's parts share; built once for a configuration.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { TrustedProxies } from '../pipeline/client-address.ts';
import type { FormTokens } from './csrf.ts';
import type { ClusterFacts } from './kubeconfig.ts';
import type {
  IdentitySource,
  PasswordLogin,
  Provider,
  Sealer,
  SessionStore,
  SignInRateLimit,
} from './ports.ts';

export interface KeystoneWay {
  readonly displayName: string;
  /** What stands in the field at first. */
  readonly defaultDomain: string | undefined;
  readonly login: PasswordLogin;
}

export interface PortalOptions {
  /** Where browsers reach it, such as `https://login.example.com`. */
  readonly publicURL: string;
  readonly trustedProxies: TrustedProxies;
  readonly cluster: ClusterFacts;
  readonly providers: readonly Provider[];
  /** Undefined where nobody signs in with a password. */
  readonly keystone: KeystoneWay | undefined;
  readonly identities: IdentitySource;
  readonly sessions: SessionStore;
  readonly limit: SignInRateLimit;
  readonly sealer: Sealer;
  /** How long a session lasts at most, in milliseconds. */
  readonly sessionLifetime: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface PortalContext extends PortalOptions {
  readonly origin: string;
  readonly formTokens: FormTokens;
}
