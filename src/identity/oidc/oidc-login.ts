/**
 * Logs a user in at an OpenID provider as a public client: authorization code with PKCE, device code,
 * refresh. The ID token is used, since kubectl sends it as the bearer token.
 * OpenID Connect Core 1.0; RFC 7636 (PKCE), RFC 8252 (native apps), RFC 8628 (device code), RFC 9207
 * (`iss`).
 */
import { setTimeout } from 'node:timers/promises';
import {
  type Configuration,
  type DeviceAuthorizationResponse,
  genericGrantRequest,
  initiateDeviceAuthorization,
  ResponseBodyError,
  refreshTokenGrant,
  tokenRevocation,
} from 'openid-client';
import { createIssuerHTTP, requireSafeAddress } from './oidc-http.ts';
import { explainOidcError, OidcLoginError, oneLine } from './oidc-login-error.ts';
import {
  beginCodeLogin,
  claimOfIDToken,
  discoverProvider,
  finishCodeLogin,
  type OidcLoginOptions,
  type OidcTokens,
  scopeOf,
  tokensFromResponse,
} from './oidc-provider.ts';

export interface CodeLogin {
  /** The page on which the user logs in. */
  readonly url: string;
  /** The provider's response must repeat it. */
  readonly state: string;
  /** @param answer the redirect URL with the provider's response */
  redeem(response: URL): Promise<OidcTokens>;
}

/** Every method throws OidcLoginError. */
export interface OidcLogin {
  readonly offersDeviceCode: boolean;
  beginCode(redirectURI: string): Promise<CodeLogin>;
  beginDevice(): Promise<DeviceLogin>;
  /** @param idToken of the same login: the new one must have the same subject */
  refresh(refreshToken: string, idToken: string): Promise<OidcTokens>;
  /** Revokes the refresh token (RFC 7009), if the provider has an endpoint for that. */
  revoke(refreshToken: string): Promise<void>;
  close(): Promise<void>;
}

/** @throws OidcLoginError if the provider cannot be reached, or is not the named issuer */
export async function createOidcLogin(options: OidcLoginOptions): Promise<OidcLogin> {
  const { issuer } = options;
  const http = createIssuerHTTP({ ca: options.ca });

  async function withExplanation<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explainOidcError(error, issuer);
    }
  }

  const config = await withExplanation(() => discoverProvider(options, http)).catch(
    async (error: unknown) => {
      await http.close();
      throw error;
    },
  );
  const metadata = config.serverMetadata();
  const scope = scopeOf(options.scopes, metadata.scopes_supported);

  async function beginCode(redirectURI: string): Promise<CodeLogin> {
    const { url, ...begun } = await beginCodeLogin(config, {
      ...options.extraParameters,
      redirect_uri: redirectURI,
      scope,
    });
    return {
      url,
      state: begun.state,
      redeem: (response) => withExplanation(() => finishCodeLogin(config, response, begun, issuer)),
    };
  }

  return {
    offersDeviceCode: metadata.device_authorization_endpoint !== undefined,
    beginCode: (redirectURI) => withExplanation(() => beginCode(redirectURI)),
    async beginDevice() {
      const parameters = { ...options.extraParameters, scope };
      const begun = await withExplanation(() => beginDeviceLogin(config, options, parameters));
      return { ...begun, wait: () => withExplanation(begun.wait) };
    },
    refresh: (refreshToken, idToken) =>
      withExplanation(async () => {
        const response = await refreshTokenGrant(config, refreshToken);
        const tokens = tokensFromResponse(response, issuer);
        if (response.claims()?.sub !== claimOfIDToken(idToken, 'sub')) {
          throw new OidcLoginError('invalid', `${issuer}: the renewed ID token is about another user`);
        }
        // Without a new refresh token the old one stays valid (RFC 6749 §6).
        return { refreshToken, ...tokens };
      }),
    async revoke(refreshToken) {
      if (metadata.revocation_endpoint === undefined) return;
      await withExplanation(() =>
        tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' }),
      );
    },
    close: http.close,
  };
}

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** Seconds, §3.2 and §3.5. */
const INTERVAL = 5;
const SLOWER = 5;

export interface DeviceLogin {
  readonly userCode: string;
  readonly verificationURI: string;
  /** The same with the code in it. */
  readonly verificationURIComplete: string | undefined;
  /** Polls until the user has decided, or the code has expired. */
  wait(): Promise<OidcTokens>;
}

/**
 * The device authorization grant, RFC 8628.
 *
 * @throws what `openid-client` throws, and OidcLoginError
 */
async function beginDeviceLogin(
  config: Configuration,
  options: OidcLoginOptions,
  parameters: Readonly<Record<string, string>>,
): Promise<DeviceLogin> {
  const { issuer, clock, signal } = options;
  if (config.serverMetadata().device_authorization_endpoint === undefined) {
    throw new OidcLoginError('refused', `${issuer}: the provider offers no login by device code`);
  }
  const begun = await initiateDeviceAuthorization(config, parameters);
  const complete = begun.verification_uri_complete;
  const shown = {
    userCode: oneLine(begun.user_code),
    verificationURI: pageAt(begun.verification_uri),
    verificationURIComplete: complete === undefined ? undefined : pageAt(complete),
  };
  const deadline = new AbortController();
  const expiry = clock.after(begun.expires_in * 1_000, () => deadline.abort());
  return {
    ...shown,
    async wait() {
      try {
        return await poll(config, begun, options, AbortSignal.any([signal, deadline.signal]));
      } catch (error) {
        if (!deadline.signal.aborted) throw error;
        throw new OidcLoginError('refused', `${issuer}: the code has expired before it was confirmed`);
      } finally {
        expiry.cancel();
      }
    },
  };
}

/** Escaped for a terminal, and a URL that a browser may open. */
function pageAt(address: string): string {
  requireSafeAddress(address);
  return new URL(address).href;
}

async function poll(
  config: Configuration,
  { device_code, interval = INTERVAL }: DeviceAuthorizationResponse,
  { issuer, pause = pauseReally }: OidcLoginOptions,
  signal: AbortSignal,
): Promise<OidcTokens> {
  for (let seconds = interval; ; ) {
    await pause(seconds * 1_000, signal);
    try {
      return tokensFromResponse(await genericGrantRequest(config, GRANT, { device_code }), issuer);
    } catch (error) {
      if (!(error instanceof ResponseBodyError)) throw error;
      if (error.error === 'slow_down') seconds += SLOWER;
      else if (error.error !== 'authorization_pending') throw error;
    }
  }
}

const pauseReally = (milliseconds: number, signal: AbortSignal) =>
  setTimeout(milliseconds, undefined, { signal });
