/**
 * Tokens that a backend validates: Keystone, or the API server by TokenReview. The cache holds what the
 * backend said, and the identity is derived from it with the current configuration. Only tokens that no cache
 * knows pass the gate, so that a flood of unknown tokens does not slow known users.
 */
import type { CredentialCache } from '../cache/credential-cache.ts';
import { unauthorized } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { UnknownCredentialGate } from '../limits/unknown-credential-gate.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { AuthenticationContext } from './authenticator.ts';
import type { TokenCredential } from './credential.ts';

export interface TokenValidationOptions<V> {
  readonly cache: CredentialCache<V>;
  readonly gate: UnknownCredentialGate;
  readonly clock: Clock;
  /** The backend, for the log: `Keystone`. */
  readonly backend: string;
  /** @returns undefined for a token that the backend does not accept */
  readonly validate: (token: string, source: string) => Promise<V | undefined>;
  readonly identityOf: (value: V) => Identity;
  /** Tags by which an operator or a revocation event drops a token's entry. */
  readonly tagsOf: (value: V) => readonly string[];
}

/** @returns a function that throws StatusError CredentialInvalid, CredentialRateExceeded from the gate */
export function createTokenValidation<V extends { readonly expiresAt?: number }>({
  cache,
  gate,
  clock,
  backend,
  validate,
  identityOf,
  tagsOf,
}: TokenValidationOptions<V>) {
  const identityOfValue = memoizeByReference(identityOf);

  // Not cancelled with the client's request: other requests may wait for the same response.
  async function load(token: string, source: string) {
    const value = await validate(token, source);
    return value && { value, expiresAt: endOf(value), tags: tagsOf(value) };
  }

  function identityOfValid(value: V | undefined): Identity {
    if (value === undefined) throw unauthorized(`${backend} does not vouch for the token`);
    if (endOf(value) <= clock.now()) throw unauthorized('the token has expired');
    return identityOfValue(value);
  }

  return (
    credential: TokenCredential,
    { source, revalidates }: AuthenticationContext,
  ): Promise<Identity> | Identity => {
    const value = cache.lookup(credential, (reason) =>
      reason === 'refresh' || revalidates
        ? load(credential.token, source)
        : gate.enter(source, () => load(credential.token, source)),
    );
    return value instanceof Promise ? value.then(identityOfValid) : identityOfValid(value);
  };
}

/** The shared cache stores finite times only. */
function endOf({ expiresAt = Number.MAX_SAFE_INTEGER }: { readonly expiresAt?: number }): number {
  return Math.min(expiresAt, Number.MAX_SAFE_INTEGER);
}
