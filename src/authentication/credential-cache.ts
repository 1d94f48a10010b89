/**
 * The port through which an authenticator remembers what its backend said of a credential. The raw credential
 * is given to it, and never stored by it. Implemented in `cache/`.
 */

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
