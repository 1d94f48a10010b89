/**
 * The authenticator contract is Kubernetes' own. An authenticator returns an identity, or `undefined` if the
 * credential is not of its kind, or throws: 401 for a bad credential, 503 if its backend is down. A throw
 * ends the chain, and no request falls through to anonymous.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/authenticator
 */

import { StatusError, unauthorized } from '../errors/status-error.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { Credential } from './credential.ts';

export interface AuthenticationContext {
  /** The client's address. The gate for unknown credentials counts by it. */
  readonly source: string;
  /**
   * Set if the credential of an open stream is validated again: it was valid when the stream began, so it
   * skips the gate.
   */
  readonly revalidates?: boolean;
}

export interface Authenticator {
  readonly name: string;
  /** The kind of credential it decides on, shown by `stonegate explain`: `Keystone tokens`. */
  readonly takes?: string;
  /** Returns no promise if the result is known without I/O, which is the usual case. */
  authenticate(
    credential: Credential,
    context: AuthenticationContext,
  ): Promise<Identity | undefined> | Identity | undefined;
  /** The identities of all users who can sign in now, one for each credential, if the source is a list. */
  readonly users?: readonly Identity[];
  /**
   * Called if the API server has refused a token that this authenticator accepted: removes its cached
   * result.
   */
  forget?(token: string): void;
}

/**
 * Runs the authenticators in order. The first that knows the kind of credential decides.
 *
 * @param from index of the first authenticator to run
 * @throws StatusError CredentialMissing without a credential; CredentialInvalid if no authenticator knows
 *   its kind
 */
export function runAuthenticators(
  authenticators: readonly Authenticator[],
  credential: Credential | undefined,
  context: AuthenticationContext,
  from = 0,
): Promise<Identity> | Identity {
  if (credential === undefined)
    throw new StatusError('CredentialMissing', 'Unauthorized', {
      cause: 'the request carries no credential',
    });
  for (let at = from; at < authenticators.length; at += 1) {
    const identity = authenticators[at]?.authenticate(credential, context);
    if (identity instanceof Promise)
      return identity.then(
        (found) => found ?? runAuthenticators(authenticators, credential, context, at + 1),
      );
    if (identity !== undefined) return identity;
  }
  throw unauthorized('no authenticator is responsible for this kind of credential');
}

/**
 * Ready as soon as one source of identities (or each of them, if the operator requires that) has been
 * reached once. A source that is lost later does not make the process unready, since cached identities and
 * fetched keys stay valid.
 *
 * @param sources each gives the reason why it has not been reached yet
 * @param requireAll ready only if every source was reached, instead of any
 */
export function createAuthenticationReadiness(
  sources: readonly ReadinessCheck[],
  requireAll: boolean,
): ReadinessCheck {
  return {
    name: 'authentication',
    notReadyBecause() {
      const missing = sources.flatMap((source) => {
        const reason = source.notReadyBecause();
        return reason === undefined ? [] : [`${source.name}: ${reason}`];
      });
      const enough = missing.length === 0 || (!requireAll && missing.length < sources.length);
      return enough ? undefined : missing.join('; ');
    },
  };
}
