/**
 * Logs a person in at an OpenID provider, as a public client on their own computer does: authorization code with
 * PKCE, device code, refresh. The ID token is what is wanted, since kubectl's convention is to send it as bearer.
 * OpenID Connect Core 1.0; RFC 7636 (PKCE), RFC 8252 (native apps), RFC 8628 (device code), RFC 9207 (`iss`).
 */
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
} from 'openid-client';
import { beginDeviceLogin, type DeviceLogin } from './oidc-device-login.ts';
import { createIssuerHTTP, requireSafeAddress } from './oidc-http.ts';
import { explainOidcError, OidcLoginError } from './oidc-login-error.ts';
import { discoverProvider, type OidcLoginOptions, scopeOf } from './oidc-login-provider.ts';
import { type OidcTokens, subjectOf, tokensOf } from './oidc-tokens.ts';

export interface CodeLogin {
  /** Where the person logs in. */
  readonly url: string;
  /** What the provider's answer must repeat. */
  readonly state: string;
  /** @param answer the address at which the browser came back */
  redeem(answer: URL): Promise<OidcTokens>;
}

/** Every method throws OidcLoginError. */
export interface OidcLogin {
  readonly offersDeviceCode: boolean;
  beginCode(redirectURI: string): Promise<CodeLogin>;
  beginDevice(): Promise<DeviceLogin>;
  /** @param idToken of the same login: the new one must be the same person's */
  refresh(refreshToken: string, idToken: string): Promise<OidcTokens>;
  close(): Promise<void>;
}

/** @throws OidcLoginError where the provider cannot be asked, or is not the issuer that was named */
export async function createOidcLogin(options: OidcLoginOptions): Promise<OidcLogin> {
  const { issuer, clock, signal } = options;
  const http = createIssuerHTTP({ ca: options.ca });

  async function inWords<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explainOidcError(error, issuer);
    }
  }

  const config = await inWords(() => discoverProvider(options, http)).catch(async (error: unknown) => {
    await http.close();
    throw error;
  });
  const metadata = config.serverMetadata();
  const scope = scopeOf(options.scopes, metadata.scopes_supported);

  async function beginCode(redirectURI: string): Promise<CodeLogin> {
    const verifier = randomPKCECodeVerifier();
    const state = randomState();
    const nonce = randomNonce();
    const url = buildAuthorizationUrl(config, {
      ...options.extraParameters,
      redirect_uri: redirectURI,
      scope,
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    requireSafeAddress(url.href);
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce };
    return {
      url: url.href,
      state,
      redeem: (answer) =>
        inWords(async () => tokensOf(await authorizationCodeGrant(config, answer, checks), issuer)),
    };
  }

  return {
    offersDeviceCode: metadata.device_authorization_endpoint !== undefined,
    beginCode: (redirectURI) => inWords(() => beginCode(redirectURI)),
    async beginDevice() {
      const parameters = { ...options.extraParameters, scope };
      const begun = await inWords(() => beginDeviceLogin({ config, issuer, parameters, clock, signal }));
      return { ...begun, wait: () => inWords(begun.wait) };
    },
    refresh: (refreshToken, idToken) =>
      inWords(async () => {
        const answer = await refreshTokenGrant(config, refreshToken);
        const tokens = tokensOf(answer, issuer);
        if (answer.claims()?.sub !== subjectOf(idToken)) {
          throw new OidcLoginError('invalid', `${issuer}: the renewed ID token is somebody else's`);
        }
        // A provider that gives no new refresh token means the old one to go on (RFC 6749 §6).
        return { refreshToken, ...tokens };
      }),
    close: http.close,
  };
}
