/**
 * Logs a person in at an OpenID provider, as a public client on their own computer does: authorization code with
 * PKCE, device code, refresh. The ID token is what is wanted, since kubectl's convention is to send it as bearer.
 * OpenID Connect Core 1.0; RFC 7636 (PKCE), RFC 8252 (native apps), RFC 8628 (device code), RFC 9207 (`iss`).
 */

import { setTimeout } from 'node:timers/promises';
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  type DeviceAuthorizationResponse,
  genericGrantRequest,
  initiateDeviceAuthorization,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
} from 'openid-client';
import type { Clock } from '../lib/clock.ts';
import { createIssuerHTTP, requireSafeAddress } from './oidc-http.ts';
import { explainOidcError, OidcLoginError, oneLine } from './oidc-login-error.ts';
import {
  discoverProvider,
  type OidcLoginOptions,
  type OidcTokens,
  scopeOf,
  subjectOfIDToken,
  tokensFromResponse,
} from './oidc-provider.ts';

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
        inWords(async () => tokensFromResponse(await authorizationCodeGrant(config, answer, checks), issuer)),
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
        const tokens = tokensFromResponse(answer, issuer);
        if (answer.claims()?.sub !== subjectOfIDToken(idToken)) {
          throw new OidcLoginError('invalid', `${issuer}: the renewed ID token is somebody else's`);
        }
        // A provider that gives no new refresh token means the old one to go on (RFC 6749 §6).
        return { refreshToken, ...tokens };
      }),
    close: http.close,
  };
}

/*
 * The login without a browser of its own: the person confirms a short code on any other device while this one asks
 * whether they have.
 * RFC 8628.
 
 */

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** Seconds, §3.2 and §3.5. */
const INTERVAL = 5;
const SLOWER = 5;

export interface DeviceLogin {
  readonly userCode: string;
  readonly verificationURI: string;
  /** The same with the code in it. */
  readonly verificationURIComplete: string | undefined;
  /** Asks until the person has decided, or the code has expired. */
  wait(): Promise<OidcTokens>;
}

export interface DeviceLoginOptions {
  readonly config: Configuration;
  readonly issuer: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Between two questions. The machine's own timers, which unlike the clock's keep the process alive. */
  readonly pause?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

/** @throws what `openid-client` throws, and OidcLoginError */
export async function beginDeviceLogin(options: DeviceLoginOptions): Promise<DeviceLogin> {
  const { config, issuer, parameters, clock, signal } = options;
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
        return await poll(begun, options, AbortSignal.any([signal, deadline.signal]));
      } catch (error) {
        if (!deadline.signal.aborted) throw error;
        throw new OidcLoginError('refused', `${issuer}: the code has expired before it was confirmed`);
      } finally {
        expiry.cancel();
      }
    },
  };
}

/** As a terminal may show it: escaped, and a page for a browser. */
function pageAt(address: string): string {
  requireSafeAddress(address);
  return new URL(address).href;
}

async function poll(
  { device_code, interval = INTERVAL }: DeviceAuthorizationResponse,
  { config, issuer, pause = pauseReally }: DeviceLoginOptions,
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
