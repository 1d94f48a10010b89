/**
 * The one credential a request carries. `Authorization: Bearer` as kube-apiserver reads it (the scheme in any
 * case, the second word is the token), or Keystone's own `X-Auth-Token`. Two of them are a 401: which one a
 * request is judged by must never be a matter of order.
 * RFC 6750 §2.1; https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/request/bearertoken
 */
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { type HeaderList, headerValues } from '../lib/header-list.ts';

export interface Credential {
  readonly kind: 'bearer' | 'x-auth-token';
  readonly token: string;
}

/**
 * @throws StatusError CredentialInvalid for an Authorization field that is no bearer token,
 *   CredentialAmbiguous for more than one credential
 */
export function credentialOf(headers: HeaderList): Credential | undefined {
  const authorization = headerValues(headers, 'authorization');
  const keystone = headerValues(headers, 'x-auth-token');
  if (authorization.length + keystone.length > 1) {
    throw new StatusError(
      'CredentialAmbiguous',
      'Unauthorized: the request carries more than one credential',
    );
  }
  if (keystone[0] !== undefined) return { kind: 'x-auth-token', token: nonEmpty(keystone[0].trim()) };
  if (authorization[0] === undefined) return undefined;
  const [scheme, token] = authorization[0].trim().split(' ');
  if (scheme?.toLowerCase() !== 'bearer') throw unauthorized('the Authorization field is no bearer token');
  return { kind: 'bearer', token: nonEmpty(token ?? '') };
}

function nonEmpty(token: string): string {
  if (token === '') throw unauthorized('the credential is empty');
  return token;
}
