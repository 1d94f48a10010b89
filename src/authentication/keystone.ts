/**
 * Authenticates by Keystone tokens, given as bearer token or as `X-Auth-Token`. What is cached is the token as
 * Keystone described it; who that makes somebody is derived from it here, once for each answer of Keystone's. Only a
 * token that no cache knows passes the gate: people who are already known are never slowed by a flood of strangers.
 */

import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { KeystoneConfiguration } from '../api/config-v1alpha1.ts';
import type { Identity } from '../api/identity.ts';
import { FERNET_START, type KeystoneToken, TOKEN_SPELLING } from '../api/keystone-v3.ts';
import { unauthorized } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { AuthenticationContext, Authenticator } from './authenticator.ts';
import type { TokenCredential } from './credential.ts';
import { identityOf } from './keystone-mapping.ts';
import type { CredentialCache, KeystoneTokenValidator, UnknownCredentialGate, Validated } from './ports.ts';

export interface KeystoneAuthenticatorOptions {
  readonly identity: KeystoneTokenValidator;
  readonly cache: CredentialCache<KeystoneToken>;
  readonly gate: UnknownCredentialGate;
  readonly tokenProvider: KeystoneConfiguration['tokenProvider'];
  readonly clock: Clock;
  /** By what an operator may drop a token's entry. */
  readonly tagsOf: (token: KeystoneToken) => readonly string[];
}

/**
 * The authenticator throws StatusError CredentialInvalid for a token Keystone does not vouch for, KeystoneUnavailable
 * where it cannot be asked, CredentialRateExceeded from the gate, IdentityUnusable for names that fit nowhere.
 */
export function createKeystoneAuthenticator(options: KeystoneAuthenticatorOptions): Authenticator {
  const { identity, cache, gate, tokenProvider, clock, tagsOf } = options;
  const identityOfToken = memoizeByReference(identityOf);
  /** Once for a credential that comes with every request of a connection. */
  const judge = memoizeByReference((credential: TokenCredential) => {
    const kind = classifyCredential(credential, tokenProvider);
    return kind === 'keystone' && !TOKEN_SPELLING.test(credential.token) ? 'misspelt' : kind;
  });

  // Without the client's signal: others may wait for the same answer.
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

/*
 * Which credentials are Keystone's. A Fernet token shows by its first characters. A token of the JWS provider looks
 * like anybody's JWT; it is Keystone's only where the configuration says that Keystone issues such tokens, and where
 * it has what only Keystone writes and not what every other issuer writes: an `iss`. So neither a service account's
 * JWT nor an ID token is ever shown to Keystone.
 * https://docs.openstack.org/keystone/latest/admin/tokens-overview.html; RFC 7519 §4.1.1
 
 */

const JWT = /^[^.]+\.[^.]+\.[^.]*$/;

/**
 * `keystone`: to be validated there; `refused`: meant for Keystone, but nothing that it issues; `foreign`: let
 * another authenticator judge it.
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
    // No JWT after all, so not Keystone's either.
    return false;
  }
}
