/**
 * Reads the one credential of a request: a bearer token as kube-apiserver reads it, a password (RFC 7617),
 * Keystone's `X-Auth-Token`, a token in a WebSocket subprotocol, or the connection's client certificate. Two
 * credentials are a 401, so that their order never decides who the user is.
 * RFC 6750 §2.1; https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/request/bearertoken and …/websocket
 */
import { isUtf8 } from 'node:buffer';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import type { ClientCertificate } from '../lib/client-certificate.ts';
import { type HeaderList, headerValue, headerValues, isNamed } from '../lib/header-list.ts';

export type Credential =
  | TokenCredential
  | { readonly kind: 'basic'; readonly userName: string; readonly password: string }
  | { readonly kind: 'certificate'; readonly certificate: ClientCertificate };

const BEARER_SUBPROTOCOL = 'base64url.bearer.authorization.k8s.io.';
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * @param certificate of the connection, if the listener requests certificates as credentials
 * @param connection key under which the connection's last token is memoized
 * @throws StatusError CredentialInvalid for an Authorization field that is neither a bearer token nor a
 *   password, or a subprotocol without a token; CredentialAmbiguous for more than one credential
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
  let given = 0;
  for (const one of [authorization, keystone, carrier, certificate]) if (one !== undefined) given += 1;
  if (given > 1) throw ambiguous();
  if (certificate !== undefined) return { kind: 'certificate', certificate };
  if (keystone !== undefined) return fieldCredential('x-auth-token', keystone, connection);
  if (authorization !== undefined) return fieldCredential('authorization', authorization, connection);
  if (carrier === undefined) return undefined;
  if (subprotocols.length < 2) throw unauthorized('the token is the only WebSocket subprotocol offered');
  return { kind: 'bearer', token: subprotocolToken(carrier) };
}

/**
 * The WebSocket subprotocols that a client offers, without the one that carries its token, which is never
 * forwarded.
 */
export function withoutTokenSubprotocol(value: string): string {
  return splitList(value)
    .filter((subprotocol) => !carriesToken(subprotocol))
    .join(', ');
}

function ambiguous(): StatusError {
  return new StatusError('CredentialAmbiguous', 'Unauthorized: the request carries more than one credential');
}

/** @throws StatusError CredentialAmbiguous if the field occurs twice */
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
  const carriers = subprotocols.filter(carriesToken);
  if (carriers.length > 1) throw ambiguous();
  return carriers[0];
}

/**
 * The last token of each connection. A connection usually sends the same token with every request, and gets
 * the same object, so that what is derived from the token (its digest, its kind) is memoized by reference.
 * Whether it is valid is not.
 */
const lastTokens = new WeakMap<
  object,
  { readonly field: TokenField; readonly value: string; readonly credential: TokenCredential }
>();

/** @param value the whole field; it must equal the memoized one exactly */
function fieldCredential(field: TokenField, value: string, connection: object | undefined): Credential {
  const last = connection && lastTokens.get(connection);
  if (last !== undefined && last.field === field && last.value === value) return last.credential;
  const credential = field === 'authorization' ? authorizationCredential(value) : xAuthToken(value);
  if (connection !== undefined && (credential.kind === 'bearer' || credential.kind === 'x-auth-token'))
    lastTokens.set(connection, { field, value, credential });
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

export interface TokenCredential {
  readonly kind: 'bearer' | 'x-auth-token';
  readonly token: string;
}

/** The header field that carries the token. */
type TokenField = 'authorization' | 'x-auth-token';
