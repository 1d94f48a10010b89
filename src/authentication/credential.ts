/**
 * The one credential a request carries. `Authorization: Bearer` as kube-apiserver reads it (the scheme in any
 * case, the second word is the token), `Authorization: Basic` as RFC 7617 has it, Keystone's own `X-Auth-Token`, the
 * WebSocket subprotocol by which browsers carry a bearer token, or the certificate that its connection was opened
 * with, believed or not. Two of them are a 401: which one a request is judged by must never be a matter of order.
 * RFC 6750 §2.1; https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/request/bearertoken and …/websocket
 */
import { isUtf8 } from 'node:buffer';
import type { ClientCertificate } from '../api/credentials.ts';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { type HeaderList, headerValue, headerValues, isNamed } from '../lib/header-list.ts';

export type Credential =
  | TokenCredential
  | { readonly kind: 'basic'; readonly userName: string; readonly password: string }
  | { readonly kind: 'certificate'; readonly certificate: ClientCertificate };

const BEARER_SUBPROTOCOL = 'base64url.bearer.authorization.k8s.io.';
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * @param certificate what the client has shown, where the listener asks for one as a credential
 * @param connection by which a token that it carried before is the same object again
 * @throws StatusError CredentialInvalid for an Authorization field that is no bearer token or a subprotocol that
 *   carries none, CredentialAmbiguous for more than one credential
 */
export function credentialOf(
  headers: HeaderList,
  certificate?: ClientCertificate,
  connection?: object,
): Credential | undefined {
  const authorization = soleValue(headers, 'authorization');
  const keystone = soleValue(headers, 'x-auth-token');
  const subprotocols = offeredSubprotocols(headers);
  const carrier = soleCarrier(subprotocols);
  const given =
    Number(authorization !== undefined) +
    Number(keystone !== undefined) +
    Number(carrier !== undefined) +
    Number(certificate !== undefined);
  if (given > 1) throw ambiguous();
  if (certificate !== undefined) return { kind: 'certificate', certificate };
  if (keystone !== undefined) return fieldCredential('x-auth-token', keystone, connection);
  if (authorization !== undefined) return fieldCredential('authorization', authorization, connection);
  if (carrier === undefined) return undefined;
  if (subprotocols.length < 2) throw unauthorized('the token is the only WebSocket subprotocol offered');
  return { kind: 'bearer', token: subprotocolToken(carrier) };
}

/** The WebSocket subprotocols a client offers without the one that carries its token: that one goes nowhere. */
export function withoutTokenSubprotocol(value: string): string {
  return splitList(value)
    .filter((subprotocol) => !carriesToken(subprotocol))
    .join(', ');
}

function ambiguous(): StatusError {
  return new StatusError('CredentialAmbiguous', 'Unauthorized: the request carries more than one credential');
}

/** @throws StatusError CredentialAmbiguous where the field is there twice */
function soleValue(headers: HeaderList, name: string): string | undefined {
  let sole: string | undefined;
  for (const field of headers) {
    if (!isNamed(field[0], name)) continue;
    if (sole !== undefined) throw ambiguous();
    sole = field[1];
  }
  return sole;
}

function soleCarrier(subprotocols: readonly string[]): string | undefined {
  let sole: string | undefined;
  for (const subprotocol of subprotocols) {
    if (!carriesToken(subprotocol)) continue;
    if (sole !== undefined) throw ambiguous();
    sole = subprotocol;
  }
  return sole;
}

function fieldCredential(field: TokenField, value: string, connection: object | undefined): Credential {
  const cached = connection && cachedToken(connection, field, value);
  if (cached !== undefined) return cached;
  const credential = field === 'authorization' ? authorizationCredential(value) : xAuthToken(value);
  if (connection !== undefined && (credential.kind === 'bearer' || credential.kind === 'x-auth-token'))
    cacheToken(connection, field, value, credential);
  return credential;
}

function xAuthToken(value: string): TokenCredential {
  return { kind: 'x-auth-token', token: nonEmpty(value.trim()) };
}

function authorizationCredential(authorization: string): Credential {
  const [scheme = '', parameter = ''] = authorization.trim().split(' ');
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return { kind: 'bearer', token: nonEmpty(parameter) };
    case 'basic':
      return userNameAndPassword(parameter);
    default:
      throw unauthorized('the Authorization field is neither a bearer token nor a password');
  }
}

function userNameAndPassword(encoded: string): Credential {
  const bytes = Buffer.from(encoded, 'base64');
  if (!BASE64.test(encoded) || !isUtf8(bytes)) throw unauthorized('the password is not base64 of UTF-8');
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) throw unauthorized('the password has no user name before it');
  return { kind: 'basic', userName: text.slice(0, colon), password: nonEmpty(text.slice(colon + 1)) };
}

function subprotocolToken(carrier: string): string {
  const encoded = carrier.slice(BEARER_SUBPROTOCOL.length);
  if (!BASE64URL.test(encoded)) throw unauthorized('the WebSocket subprotocol holds no base64url');
  return nonEmpty(Buffer.from(encoded, 'base64url').toString('utf8'));
}

const NONE: readonly string[] = [];

function offeredSubprotocols(headers: HeaderList): readonly string[] {
  if (headerValue(headers, 'sec-websocket-protocol') === undefined) return NONE;
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

/*
 * A token that is a credential, and the last one of each connection. A connection brings the same with nearly every
 * request, and as the same object: so what is derived from a token (its digest, whose kind it is) can be remembered with
 * it. Whether it is still good is never among that.
 
 */

export interface TokenCredential {
  readonly kind: 'bearer' | 'x-auth-token';
  readonly token: string;
}

/** The header field that carries it. */
export type TokenField = 'authorization' | 'x-auth-token';

/** Kept no longer than the connection. */
const lastTokens = new WeakMap<
  object,
  { readonly field: TokenField; readonly value: string; readonly credential: TokenCredential }
>();

/**
 * @param value the whole of the field: in nothing may it differ from the one that is remembered
 * @returns undefined where the connection's last token was another
 */
function cachedToken(connection: object, field: TokenField, value: string): TokenCredential | undefined {
  const last = lastTokens.get(connection);
  return last !== undefined && last.field === field && last.value === value ? last.credential : undefined;
}

function cacheToken(connection: object, field: TokenField, value: string, credential: TokenCredential): void {
  lastTokens.set(connection, { field, value, credential });
}
