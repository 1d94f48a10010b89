/**
 * The port to an OIDC issuer's published keys. Implemented in `clients/oidc.ts`: discovery, fetching, caching and
 * refreshing are its business; verification is the authenticator's.
 * OpenID Connect Discovery 1.0 §4; RFC 7517 §5.
 */
import type { JSONWebKeySet } from 'jose';

export type KeySet = JSONWebKeySet;

export interface IssuerKeys {
  /**
   * The keys to verify with: the same object for as long as the issuer publishes the same keys. An unknown `kid`
   * causes a refresh, at most once per a configured interval.
   *
   * @param kid of the token at hand; undefined where it names none
   * @throws StatusError IssuerUnavailable where there is no key to verify with, or where nobody can tell whether
   *   an unknown `kid` is the issuer's because the issuer does not answer
   */
  keys(kid: string | undefined): Promise<KeySet>;
  /** Whether a key set has been fetched at least once. */
  readonly initialized: boolean;
}
