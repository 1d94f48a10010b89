/**
 * Finds a provider for a login, and settles how to speak with it: over which connection, as which client, and which
 * scopes to ask for.
 * OpenID Connect Discovery 1.0 §4; RFC 6749 §2.3.
 */
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  None,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client';
import type { Clock } from '../lib/clock.ts';
import { isLoopback } from '../lib/loopback.ts';
import type { IssuerHTTP } from './oidc-http.ts';
import { OidcLoginError } from './oidc-login-error.ts';

/** Asked for where the provider does not say that it has others only. */
const SCOPES = ['profile', 'email'];

export interface OidcProviderOptions {
  readonly issuer: string;
  /** Where its document is, when not below `issuer`: the whole address, `/.well-known/…` included. */
  readonly discoveryURL?: string | undefined;
  readonly clientID: string;
  /** Where the provider gives even native applications one. */
  readonly clientSecret?: string | undefined;
  /** Ends everything under way. */
  readonly signal: AbortSignal;
}

export interface OidcLoginOptions extends OidcProviderOptions {
  /** PEM; when given, only these authorities are trusted. */
  readonly ca?: string | undefined;
  /** Beside those that every login asks for. */
  readonly scopes: readonly string[];
  /** What a provider wants beside the standard in the address of its login page. */
  readonly extraParameters: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** @throws Error where the provider cannot be asked, or is not the issuer that was named */
export async function discoverProvider(
  options: OidcProviderOptions,
  http: IssuerHTTP,
): Promise<Configuration> {
  const location = new URL(options.discoveryURL ?? options.issuer);
  const fetch: CustomFetch = (url, { method, headers, body, signal }) =>
    http.send(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
      signal: signal === undefined ? options.signal : AbortSignal.any([options.signal, signal]),
    });
  const authentication = clientAuthentication(options.clientSecret);
  const found = await discovery(location, options.clientID, undefined, authentication, {
    [customFetch]: fetch,
    ...(isLoopback(location) ? { execute: [allowInsecureRequests] } : {}),
  });
  const { issuer } = found.serverMetadata();
  if (options.discoveryURL !== undefined && issuer !== options.issuer)
    throw new Error(`the discovery document names the issuer ${JSON.stringify(issuer)}`);
  return found;
}

/** In the header, as RFC 6749 §2.3.1 prefers, unless the provider says that it only reads the form. */
function clientAuthentication(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  const [inHeader, inForm] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...call) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const readsHeader = methods === undefined || methods.includes('client_secret_basic');
    return readsHeader ? inHeader(server, ...call) : inForm(server, ...call);
  };
}

/** `offline_access` only where the provider lists it: Google refuses the whole login for it. */
export function scopeOf(extra: readonly string[], supported: readonly string[] | undefined): string {
  const usual = SCOPES.filter((scope) => supported?.includes(scope) ?? true);
  const offline = supported?.includes('offline_access') ? ['offline_access'] : [];
  return [...new Set(['openid', ...usual, ...offline, ...extra])].join(' ');
}

/*
 * What a provider's token endpoint gives, as far as a login wants it.
 * OpenID Connect Core 1.0 §3.1.3.3.
 
 */

/** Secret, both of them. */
export interface OidcTokens {
  readonly idToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly refreshToken?: string;
}

export type TokenAnswer = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** @throws OidcLoginError where there is no ID token */
export function tokensFromResponse(answer: TokenAnswer, issuer: string): OidcTokens {
  const claims = answer.claims();
  if (answer.id_token === undefined || claims === undefined) {
    throw new OidcLoginError('invalid', `${issuer}: the provider gave no ID token`);
  }
  return {
    idToken: answer.id_token,
    expiresAt: claims.exp * 1_000,
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
  };
}

/**
 * @param idToken one that was checked when it was new
 * @returns undefined where it holds none
 */
export function subjectOfIDToken(idToken: string): unknown {
  try {
    const payload: unknown = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString());
    return typeof payload === 'object' && payload !== null && 'sub' in payload ? payload.sub : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
