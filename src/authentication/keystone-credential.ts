/**
 * Which credentials are Keystone's. A Fernet token shows by its first characters. A token of the JWS provider looks
 * like anybody's JWT; it is Keystone's only where the configuration says that Keystone issues such tokens, and where
 * it has what only Keystone writes and not what every other issuer writes: an `iss`. So neither a service account's
 * JWT nor an ID token is ever shown to Keystone.
 * https://docs.openstack.org/keystone/latest/admin/tokens-overview.html; RFC 7519 §4.1.1
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { KeystoneConfiguration } from '../api/config-v1alpha1.ts';
import { FERNET_START } from '../api/keystone-v3.ts';
import type { TokenCredential } from './token-credential.ts';

const JWT = /^[^.]+\.[^.]+\.[^.]*$/;

/**
 * `keystone`: to be validated there; `refused`: meant for Keystone, but nothing that it issues; `foreign`: let
 * another authenticator judge it.
 */
export function classifyCredential(
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
