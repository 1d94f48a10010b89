/**
 * The authenticator for Keystone tokens, sent as a bearer token or as `X-Auth-Token`. The cache holds the
 * token as Keystone described it; the identity is derived from it with the current configuration. Only
 * tokens that no cache knows pass the gate, so that a flood of unknown tokens does not slow known users.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { CredentialCache, Validated } from '../../cache/credential-cache.ts';
import { unauthorized } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { UnknownCredentialGate } from '../../limits/unknown-credential-gate.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { FERNET_START, type KeystoneToken, TOKEN_SPELLING } from '../../tenancy/keystone-v3.ts';
import type { KeystoneConfiguration } from '../authentication-configuration.ts';
import type { AuthenticationContext, Authenticator } from '../authenticator.ts';
import type { TokenCredential } from '../credential.ts';
import type { KeystoneTokenValidator } from '../ports.ts';
import { identityOf } from './keystone-mapping-authenticator.ts';

export interface KeystoneAuthenticatorOptions {
  readonly identity: KeystoneTokenValidator;
  readonly cache: CredentialCache<KeystoneToken>;
  readonly gate: UnknownCredentialGate;
  readonly tokenProvider: KeystoneConfiguration['tokenProvider'];
  readonly clock: Clock;
  /** Tags by which an operator or a revocation event drops a token's entry. */
  readonly tagsOf: (token: KeystoneToken) => readonly string[];
}

/**
 * The authenticator throws StatusError CredentialInvalid for a token that Keystone refuses,
 * KeystoneUnavailable if Keystone cannot be reached, CredentialRateExceeded from the gate, IdentityUnusable
 * for unusable names.
 */
export function createKeystoneAuthenticator(options: KeystoneAuthenticatorOptions): Authenticator {
  const { identity, cache, gate, tokenProvider, clock, tagsOf } = options;
  const identityOfToken = memoizeByReference(identityOf);
  /** Memoized: a connection sends the same credential object with every request. */
  const judge = memoizeByReference((credential: TokenCredential) => {
    const kind = classifyCredential(credential, tokenProvider);
    return kind === 'keystone' && !TOKEN_SPELLING.test(credential.token) ? 'misspelt' : kind;
  });

  // Not cancelled with the client's request: other requests may wait for the same response.
  async function validate(credential: string): Promise<Validated<KeystoneToken>> {
    const token = await identity.validate(credential);
    return token && { value: token, expiresAt: token.expiresAt, tags: tagsOf(token) };
  }

  function identityOfValid(token: KeystoneToken | undefined): Identity {
    if (token === undefined) throw unauthorized('Keystone does not vouch for the token');
    if (token.expiresAt <= clock.now()) throw unauthorized('the Keystone token has expired');
    return identityOfToken(token);
  }

  function lookup(
    credential: TokenCredential,
    { source, revalidates }: AuthenticationContext,
  ): Promise<Identity> | Identity {
    const token = cache.lookup(credential, (reason) =>
      reason === 'refresh' || revalidates
        ? validate(credential.token)
        : gate.enter(source, () => validate(credential.token)),
    );
    return token instanceof Promise ? token.then(identityOfValid) : identityOfValid(token);
  }

  return {
    name: 'keystone',
    takes: tokenProvider === 'jws' ? 'Keystone tokens, Fernet and JWS' : 'Keystone tokens, Fernet',
    authenticate(credential, context) {
      if (credential.kind !== 'bearer' && credential.kind !== 'x-auth-token') return undefined;
      switch (judge(credential)) {
        case 'foreign':
          return undefined;
        case 'refused':
          throw unauthorized('the X-Auth-Token is a JWT that this Keystone did not issue');
        case 'misspelt':
          throw unauthorized('the Keystone token is too long, or has characters that none has');
        case 'keystone':
          return lookup(credential, context);
      }
    },
  };
}

const JWT = /^[^.]+\.[^.]+\.[^.]*$/;

/**
 * Which authenticator decides on a token. Fernet tokens start with `gAAAAA`. A token of Keystone's JWS
 * provider is recognized only if the configuration names that provider, and if it has Keystone's claims and
 * no `iss`. So a service account token or an ID token is never sent to Keystone.
 * https://docs.openstack.org/keystone/latest/admin/tokens-overview.html; RFC 7519 §4.1.1
 *
 * @returns `keystone`: Keystone validates it; `refused`: sent as Keystone's, but not of a kind that it
 *   issues; `foreign`: another authenticator decides
 */
function classifyCredential(
  { kind, token }: TokenCredential,
  tokenProvider: KeystoneConfiguration['tokenProvider'],
): 'keystone' | 'refused' | 'foreign' {
  if (token.startsWith(FERNET_START)) return 'keystone';
  if (JWT.test(token)) {
    if (tokenProvider === 'jws' && isKeystoneJWS(token)) return 'keystone';
    return kind === 'x-auth-token' ? 'refused' : 'foreign';
  }
  return kind === 'x-auth-token' ? 'keystone' : 'foreign';
}

function isKeystoneJWS(token: string): boolean {
  try {
    const claims = decodeJwt(token);
    return (
      decodeProtectedHeader(token).alg === 'ES256' &&
      !Object.hasOwn(claims, 'iss') &&
      Array.isArray(claims.openstack_methods) &&
      Array.isArray(claims.openstack_audit_ids)
    );
  } catch {
    // It is no JWT, so no Keystone token either.
    return false;
  }
}
