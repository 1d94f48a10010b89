/**
 * Discovers an OpenID provider for a login, chooses client authentication and scopes, and reads the tokens
 * of its token endpoint.
 * OpenID Connect Discovery 1.0 §4; OpenID Connect Core 1.0 §3.1.3.3; RFC 6749 §2.3.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client';
import type { Clock } from '../../lib/clock.ts';
import { readJSONObject } from '../../lib/json-object.ts';
import { isLoopback } from '../../lib/transport-security.ts';
import { type IssuerHTTP, requireSafeAddress } from './oidc-http.ts';
import { OidcLoginError } from './oidc-login-error.ts';

/** Requested unless the provider lists other scopes only. */
const SCOPES = ['profile', 'email'];

export interface OidcProviderOptions {
  readonly issuer: string;
  /** URL of the discovery document, if not below `issuer`; with `/.well-known/…`. */
  readonly discoveryURL?: string | undefined;
  readonly clientID: string;
  /** Set if the provider requires one even of native applications. */
  readonly clientSecret?: string | undefined;
  /** Cancels all requests. */
  readonly signal: AbortSignal;
}

export interface OidcLoginOptions extends OidcProviderOptions {
  /** PEM; when given, only these authorities are trusted. */
  readonly ca?: string | undefined;
  /** Scopes beside those of every login. */
  readonly scopes: readonly string[];
  /** Additional parameters of the authorization URL. */
  readonly extraParameters: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /**
   * Waits between two polls for a device code. By default a real timer, which unlike the clock's keeps the
   * process alive.
   */
  readonly pause?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

/** @throws Error if the provider cannot be reached, or is not the named issuer */
export async function discoverProvider(
  options: OidcProviderOptions,
  http: IssuerHTTP,
): Promise<Configuration> {
  const location = new URL(options.discoveryURL ?? options.issuer);
  let refused: string | undefined;
  const fetch: CustomFetch = async (url, { method, headers, body, signal }) => {
    const response = await http.send(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
      signal: signal === undefined ? options.signal : AbortSignal.any([options.signal, signal]),
    });
    refused = response.status === 200 ? undefined : `${url} answered ${response.status}`;
    return response;
  };
  const authentication = clientAuthentication(options.clientSecret);
  const found = await discovery(location, options.clientID, undefined, authentication, {
    [customFetch]: fetch,
    ...(isLoopback(location) ? { execute: [allowInsecureRequests] } : {}),
  }).catch((error: unknown) => {
    if (refused === undefined) throw error;
    throw new OidcLoginError('invalid', `${refused}: no discovery document is there`);
  });
  const { issuer } = found.serverMetadata();
  if (options.discoveryURL !== undefined && issuer !== options.issuer)
    throw new Error(`the discovery document names the issuer ${JSON.stringify(issuer)}`);
  return found;
}

/** HTTP Basic, as RFC 6749 §2.3.1 prefers, unless the provider only supports the form. */
function clientAuthentication(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  const [inHeader, inForm] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...call) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const readsHeader = methods === undefined || methods.includes('client_secret_basic');
    return readsHeader ? inHeader(server, ...call) : inForm(server, ...call);
  };
}

export interface BegunCodeLogin {
  /** The page on which the user logs in. */
  readonly url: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Authorization code with PKCE, state and nonce. @throws Error for a page that is not safe to open */
export async function beginCodeLogin(
  configuration: Configuration,
  parameters: Readonly<Record<'redirect_uri' | 'scope', string>>,
): Promise<BegunCodeLogin> {
  const codeVerifier = randomPKCECodeVerifier();
  const [state, nonce] = [randomState(), randomNonce()];
  const url = buildAuthorizationUrl(configuration, {
    ...parameters,
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
  requireSafeAddress(url.href);
  return { url: url.href, state, nonce, codeVerifier };
}

/** @throws what `openid-client` throws, and OidcLoginError */
export async function finishCodeLogin(
  configuration: Configuration,
  response: URL,
  { state, nonce, codeVerifier }: Omit<BegunCodeLogin, 'url'>,
  issuer: string,
): Promise<OidcTokens> {
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier };
  return tokensFromResponse(await authorizationCodeGrant(configuration, response, checks), issuer);
}

/** `offline_access` only if the provider lists it: Google refuses the login otherwise. */
export function scopeOf(extra: readonly string[], supported: readonly string[] | undefined): string {
  const usual = SCOPES.filter((scope) => supported?.includes(scope) ?? true);
  const offline = supported?.includes('offline_access') ? ['offline_access'] : [];
  return [...new Set(['openid', ...usual, ...offline, ...extra])].join(' ');
}

/** Both tokens are secret. */
export interface OidcTokens {
  readonly idToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly refreshToken?: string;
  /** Names the user and the issuer in words. */
  readonly holder: string;
}

export type TokenResponse = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** @throws OidcLoginError if there is no ID token */
export function tokensFromResponse(response: TokenResponse, issuer: string): OidcTokens {
  const claims = response.claims();
  if (response.id_token === undefined || claims === undefined) {
    throw new OidcLoginError('invalid', `${issuer}: the provider returned no ID token`);
  }
  return {
    idToken: response.id_token,
    expiresAt: claims.exp * 1_000,
    holder: `${claims.email ?? claims.preferred_username ?? claims.sub} at ${issuer}`,
    ...(response.refresh_token === undefined ? {} : { refreshToken: response.refresh_token }),
  };
}

/**
 * @param idToken that was verified when it was issued
 * @returns undefined if it has no such claim
 */
export function claimOfIDToken(idToken: string, name: 'sub' | 'groups'): unknown {
  return readJSONObject(Buffer.from(idToken.split('.')[1] ?? '', 'base64url'))?.[name];
}
