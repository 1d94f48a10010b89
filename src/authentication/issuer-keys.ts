/**
 * The port to an OIDC issuer's published keys. Implemented in `clients/oidc.ts`: discovery, fetching, caching and
 * refreshing are its business; verification is the authenticator's.
 * OpenID Connect Discovery 1.0 §4; RFC 7517 §5.
 */
import type { JSONWebKeySet } from 'jose';

export interface IssuerKeys {
  /**
   * The keys to verify with. An unknown `kid` causes a refresh, at most once per a configured interval.
   *
   * @param kid of the token at hand; undefined where it names none
   * @throws StatusError IssuerUnavailable where no key set was ever fetched
   */
  keys(kid: string | undefined): Promise<JSONWebKeySet>;
  /** Whether a key set has been fetched at least once. */
  readonly initialized: boolean;
}
