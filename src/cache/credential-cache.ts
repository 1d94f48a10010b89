/**
 * The cache interface: what backends have said of credentials. `tiered.ts` implements it.
 */
import type { Digestible } from './credential-digest.ts';

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
