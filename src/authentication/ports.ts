/**
 * The port through which an authenticator remembers what its backend said of a credential. The raw credential
 * is given to it, and never stored by it. Implemented in `cache/`.
 */

import type { JSONWebKeySet } from 'jose';
import type { UserInfo } from '../api/authentication-v1.ts';
import type { KeystoneToken } from '../api/keystone-v3.ts';
import type { Digestible } from '../lib/credential-digest.ts';

/** What a backend found out; `undefined` means that the credential is bad. */
export type Validated<V> =
  | {
      readonly value: V;
      /** The credential's own end, in milliseconds since the epoch; no entry outlives it. */
      readonly expiresAt: number;
      /** What an operator may drop the entry by: `user:NAME`, `user:UID`, `tenant:NAME`. */
      readonly tags: readonly string[];
    }
  | undefined;

export interface CredentialCache<V> {
  /**
   * The remembered value, or what `load` finds out. One `load` runs per credential at a time. An entry close to
   * its end is refreshed in the background. Where `load` throws, nothing is remembered, and a cached value may
   * serve on to the end of its entry.
   *
   * @param load asks the backend; `refresh` says that nobody is waiting for it
   * @returns undefined for a bad credential; no promise where the answer is at hand
   */
  lookup(
    credential: Digestible,
    load: (reason: 'miss' | 'refresh') => Promise<Validated<V>>,
  ): Promise<V | undefined> | V | undefined;
}

export interface ForgettingCredentialCache<V> extends CredentialCache<V> {
  /** Forgets the entry: the next who asks hears the backend's word of that moment. */
  forget(credential: Digestible): void;
}

/*
 * The port to an OIDC issuer's published keys. Implemented in `clients/oidc.ts`: discovery, fetching, caching and
 * refreshing are its business; verification is the authenticator's.
 * OpenID Connect Discovery 1.0 §4; RFC 7517 §5.
 
 */

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

/*
 * The port to Keystone. Implemented in `clients/keystone.ts`.
 
 */

export interface KeystoneTokenValidator {
  /**
   * `GET /v3/auth/tokens`.
   *
   * @param signal ends the call
   * @returns undefined where Keystone does not know the token, or no longer
   * @throws StatusError KeystoneUnavailable where Keystone cannot be asked or its answer cannot be believed
   */
  validate(token: string, signal?: AbortSignal): Promise<KeystoneToken | undefined>;
}

/*
 * The port for asking the API server whose token something is. Implemented in `clients/token-reviewer.ts`.
 
 */

export interface TokenReviewClient {
  /**
   * A TokenReview, asked as Stonegate itself.
   *
   * @param source the address of the client that sent the token, on whose account the API server is asked
   * @returns undefined where the API server does not vouch for the token, or not for the audiences asked for
   * @throws StatusError UpstreamUnavailable where the API server cannot be asked or its answer cannot be believed,
   *   UpstreamRefusedCredential where Stonegate may not ask
   */
  review(token: string, source: string): Promise<UserInfo | undefined>;
}

/*
 * The port that stands between unknown credentials and the backend that would have to be asked: it slows a
 * flood per source address and bounds the total. People with a cached identity never meet it.
 * Implemented in `flowcontrol/`.
 
 */

export interface UnknownCredentialGate {
  /**
   * Runs `work` when there is room for it.
   *
   * @param source the client's address
   * @throws StatusError CredentialRateExceeded where the source or the total is over its bound
   */
  enter<T>(source: string, work: () => Promise<T>): Promise<T>;
}
