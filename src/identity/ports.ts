/**
 * The interfaces that the authenticators need from outside.
 */
import type { JSONWebKeySet } from 'jose';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { KeystoneToken } from '../tenancy/keystone-v3.ts';

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
