/**
 * The interfaces that authentication needs from outside. `cache/`, `clients/` and `flowcontrol/` implement
 * them.
 */
import type { JSONWebKeySet } from 'jose';
import type { Digestible } from '../cache/credential-digest.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { KeystoneToken } from '../tenancy/keystone-v3.ts';

/** A backend's result; `undefined` means that the credential is invalid. */
export type Validated<V> =
  | {
      readonly value: V;
      /** Expiry of the credential, in milliseconds since the epoch; no entry outlives it. */
      readonly expiresAt: number;
      /** Tags by which an operator drops the entry: `user:NAME`, `user:UID`, `tenant:NAME`. */
      readonly tags: readonly string[];
    }
  | undefined;

export interface CredentialCache<V> {
  /**
   * The cached value, or the result of `load`. One `load` runs per credential at a time. An entry close to
   * its expiry is refreshed in the background. If `load` throws, nothing is stored, and a cached value stays
   * valid to the end of its entry.
   *
   * @param load requests the backend; `refresh` means that no request waits for it
   * @returns undefined for an invalid credential; no promise if the value is cached
   */
  lookup(
    credential: Digestible,
    load: (reason: 'miss' | 'refresh') => Promise<Validated<V>>,
  ): Promise<V | undefined> | V | undefined;
}

export interface ForgettingCredentialCache<V> extends CredentialCache<V> {
  /** Removes the entry, so that the next request reaches the backend. */
  forget(credential: Digestible): void;
}

export type KeySet = JSONWebKeySet;

export interface IssuerKeys {
  /**
   * The keys of an OIDC issuer (OpenID Connect Discovery 1.0 §4; RFC 7517 §5). The result is the same object
   * as long as the issuer publishes the same keys. An unknown `kid` causes a refresh, at most once per
   * configured interval.
   *
   * @param kid of the token; undefined if it has none
   * @throws StatusError IssuerUnavailable if there is no key, or if the `kid` is unknown and the issuer
   *   cannot be reached
   */
  keys(kid: string | undefined): Promise<KeySet>;
  /** Whether a key set has been fetched at least once. */
  readonly initialized: boolean;
}

export interface KeystoneTokenValidator {
  /**
   * `GET /v3/auth/tokens`.
   *
   * @param signal cancels the request
   * @returns undefined if Keystone does not know the token (any more)
   * @throws StatusError KeystoneUnavailable if Keystone cannot be reached or its response cannot be used
   */
  validate(token: string, signal?: AbortSignal): Promise<KeystoneToken | undefined>;
}

export interface TokenReviewClient {
  /**
   * Creates a TokenReview with Stonegate's own credential.
   *
   * @param source address of the client, whose account the request is charged to
   * @returns undefined if the API server does not authenticate the token, or not for the configured
   *   audiences
   * @throws StatusError UpstreamUnavailable if the API server cannot be reached or its response cannot be
   *   used, UpstreamRefusedCredential if Stonegate may not create TokenReviews
   */
  review(token: string, source: string): Promise<UserInfo | undefined>;
}

export interface UnknownCredentialGate {
  /**
   * Limits how many unknown credentials reach a backend, per source address and in total. Cached credentials
   * do not pass it.
   *
   * @param source the client's address
   * @throws StatusError CredentialRateExceeded if the source or the total exceeds its limit
   */
  enter<T>(source: string, work: () => Promise<T>): Promise<T>;
}
