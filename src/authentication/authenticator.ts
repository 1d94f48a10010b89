/**
 * What an authenticator is: Kubernetes' own contract. It returns an identity; or `undefined`, which says "not my
 * kind of credential, ask the next"; or throws: mine and bad (401), or my backend is down (503). A throw ends
 * the chain, and nothing ever falls through to anonymous.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/authenticator
 */
import type { Identity } from '../api/identity.ts';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Credential } from './credential.ts';

export interface AuthenticationContext {
  /** The client's address, by which floods of unknown credentials are slowed. */
  readonly source: string;
  /** The credential of an open stream, which was good when the stream began: it is no unknown one. */
  readonly revalidates?: boolean;
}

export interface Authenticator {
  readonly name: string;
  /** The kind of credential it decides on, for explanations: `Keystone tokens`. */
  readonly takes?: string;
  /** No promise where it knows at once: of most credentials it does. */
  authenticate(
    credential: Credential,
    context: AuthenticationContext,
  ): Promise<Identity | undefined> | Identity | undefined;
  /** The API server has refused a token that this authenticator let through: what is remembered of it counts no more. */
  forget?(token: string): void;
}

/** One that always answers later. */
export interface AsyncAuthenticator extends Authenticator {
  authenticate(credential: Credential, context: AuthenticationContext): Promise<Identity | undefined>;
}

/**
 * Asks the authenticators in order; the first that knows the kind of credential decides.
 *
 * @param from the first that has not been asked yet
 * @throws StatusError CredentialMissing without a credential, CredentialInvalid where nobody knows it
 */
export function authenticate(
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
      return identity.then((found) => found ?? authenticate(authenticators, credential, context, at + 1));
    if (identity !== undefined) return identity;
  }
  throw unauthorized('no authenticator is responsible for this kind of credential');
}

/*
 * Whether anybody can be authenticated yet. One source of identities that has been reached once suffices, unless
 * the operator wants all of them; what is lost later does not make the process unready, since cached identities
 * and fetched keys serve on.
 
 */

/**
 * @param sources each says why it was not reached yet
 * @param requireAll ready only when every source was reached, instead of any
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
