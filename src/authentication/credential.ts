/**
 * The one credential a request carries. `Authorization: Bearer` as kube-apiserver reads it (the scheme in any
 * case, the second word is the token), Keystone's own `X-Auth-Token`, or the WebSocket subprotocol by which
 * browsers carry a bearer token. Two of them are a 401: which one a request is judged by must never be a matter
 * of order.
 * RFC 6750 §2.1; https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/request/bearertoken and …/websocket
 */
import type { ClientCertificate } from '../api/client-certificate.ts';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { type HeaderList, headerValues } from '../lib/header-list.ts';

export type Credential =
  | TokenCredential
  | { readonly kind: 'basic'; readonly userName: string; readonly password: string }
  | { readonly kind: 'certificate'; readonly certificate: ClientCertificate };

export interface TokenCredential {
  readonly kind: 'bearer' | 'x-auth-token';
  readonly token: string;
}

const BEARER_SUBPROTOCOL = 'base64url.bearer.authorization.k8s.io.';
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * @throws StatusError CredentialInvalid for an Authorization field that is no bearer token or a subprotocol that
 *   carries none, CredentialAmbiguous for more than one credential
 */
export function credentialOf(headers: HeaderList): Credential | undefined {
  const authorization = headerValues(headers, 'authorization');
  const keystone = headerValues(headers, 'x-auth-token');
  const subprotocols = offeredSubprotocols(headers);
  const carriers = subprotocols.filter(carriesToken);
  if (authorization.length + keystone.length + carriers.length > 1) {
    throw new StatusError(
      'CredentialAmbiguous',
      'Unauthorized: the request carries more than one credential',
    );
  }
  if (keystone[0] !== undefined) return { kind: 'x-auth-token', token: nonEmpty(keystone[0].trim()) };
  if (authorization[0] !== undefined) return { kind: 'bearer', token: bearerToken(authorization[0]) };
  if (carriers[0] === undefined) return undefined;
  if (subprotocols.length < 2) throw unauthorized('the token is the only WebSocket subprotocol offered');
  return { kind: 'bearer', token: subprotocolToken(carriers[0]) };
}

/** The WebSocket subprotocols a client offers without the one that carries its token: that one goes nowhere. */
export function withoutTokenSubprotocol(value: string): string {
  return splitList(value)
    .filter((subprotocol) => !carriesToken(subprotocol))
    .join(', ');
}

function bearerToken(authorization: string): string {
  const [scheme, token] = authorization.trim().split(' ');
  if (scheme?.toLowerCase() !== 'bearer') throw unauthorized('the Authorization field is no bearer token');
  return nonEmpty(token ?? '');
}

function subprotocolToken(carrier: string): string {
  const encoded = carrier.slice(BEARER_SUBPROTOCOL.length);
  if (!BASE64URL.test(encoded)) throw unauthorized('the WebSocket subprotocol holds no base64url');
  return nonEmpty(Buffer.from(encoded, 'base64url').toString('utf8'));
}

function offeredSubprotocols(headers: HeaderList): string[] {
  return headerValues(headers, 'sec-websocket-protocol').flatMap(splitList);
}

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

function carriesToken(subprotocol: string): boolean {
  return subprotocol.toLowerCase().startsWith(BEARER_SUBPROTOCOL);
}

function nonEmpty(token: string): string {
  if (token === '') throw unauthorized('the credential is empty');
  return token;
}
