/**
 * The login without a browser of its own: the person confirms a short code on any other device while this one asks
 * whether they have.
 * RFC 8628.
 */
import { setTimeout } from 'node:timers/promises';
import {
  type Configuration,
  type DeviceAuthorizationResponse,
  genericGrantRequest,
  initiateDeviceAuthorization,
  ResponseBodyError,
} from 'openid-client';
import type { Clock } from '../lib/clock.ts';
import { requireSafeAddress } from './oidc-http.ts';
import { OidcLoginError, oneLine } from './oidc-login-error.ts';
import { type OidcTokens, tokensOf } from './oidc-tokens.ts';

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
      return tokensOf(await genericGrantRequest(config, GRANT, { device_code }), issuer);
    } catch (error) {
      if (!(error instanceof ResponseBodyError)) throw error;
      if (error.error === 'slow_down') seconds += SLOWER;
      else if (error.error !== 'authorization_pending') throw error;
    }
  }
}

const pauseReally = (milliseconds: number, signal: AbortSignal) =>
  setTimeout(milliseconds, undefined, { signal });
